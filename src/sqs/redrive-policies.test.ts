import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { AttributeRefusal } from './attribute-refusal.ts'
import { defaultHome } from './queue-address.ts'
import {
  formatRedriveAllowPolicy,
  formatRedrivePolicy,
  parseRedriveAllowPolicy,
  parseRedrivePolicy,
} from './redrive-policies.ts'

const arn = 'arn:aws:sqs:us-east-1:000000000000:dead'
const scene = { queue: { ...defaultHome, name: 'orders' }, home: defaultHome }

function refusalOf(run: () => unknown): AttributeRefusal {
  try {
    run()
  } catch (error) {
    assert.ok(error instanceof AttributeRefusal)
    return error
  }
  assert.fail('it was not refused')
}

describe('a redrive policy', () => {
  test('names the dead-letter queue and the number of receives, also as a text', () => {
    for (const maxReceiveCount of [3, '3']) {
      const text = JSON.stringify({ deadLetterTargetArn: arn, maxReceiveCount })
      assert.deepEqual(parseRedrivePolicy(text, scene), { queue: 'dead', maxReceives: 3 })
    }
  })

  test('is given back with a number', () => {
    const target = { queue: 'dead', maxReceives: 3 }
    assert.equal(
      formatRedrivePolicy(target, defaultHome),
      `{"deadLetterTargetArn":"${arn}","maxReceiveCount":3}`,
    )
  })

  test('finds queues of other places by their names in the store', () => {
    const queue = { region: 'eu-west-1', account: '123456789012', name: 'orders' }
    const deadLetterTargetArn = 'arn:aws:sqs:eu-west-1:123456789012:dead'
    const text = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 1 })
    const target = parseRedrivePolicy(text, { queue, home: defaultHome })
    assert.deepEqual(target, { queue: 'eu-west-1:123456789012:dead', maxReceives: 1 })
    assert.equal(formatRedrivePolicy(target, defaultHome), text)
  })

  test.each([' ', '4', '[]', 'null', '{'])('is not %j', (text) => {
    const { code, message } = refusalOf(() => parseRedrivePolicy(text, scene))
    assert.equal(code, 'InvalidAttributeValue')
    assert.equal(
      message,
      'Invalid value for the parameter RedrivePolicy. Reason: Redrive policy is not a valid JSON map.',
    )
  })

  test.each([
    [{}, 'Redrive policy does not contain mandatory attribute: maxReceiveCount.'],
    [
      { maxReceiveCount: 5 },
      'Redrive policy does not contain mandatory attribute: deadLetterTargetArn.',
    ],
    [
      { deadLetterTargetArn: arn, maxReceiveCount: 0 },
      'Invalid value for maxReceiveCount: 0, valid values are from 1 to 1000 both inclusive.',
    ],
    [
      { deadLetterTargetArn: arn, maxReceiveCount: 1001 },
      'Invalid value for maxReceiveCount: 1001, valid values are from 1 to 1000 both inclusive.',
    ],
    [
      { deadLetterTargetArn: arn, maxReceiveCount: 1.5 },
      'Invalid value for maxReceiveCount: 1.5, valid values are from 1 to 1000 both inclusive.',
    ],
    [
      { deadLetterTargetArn: arn, maxReceiveCount: 'often' },
      'Invalid value for maxReceiveCount: often, valid values are from 1 to 1000 both inclusive.',
    ],
    [
      { deadLetterTargetArn: 'dummy', maxReceiveCount: 5 },
      'Invalid value for deadLetterTargetArn.',
    ],
    [{ deadLetterTargetArn: 5, maxReceiveCount: 5 }, 'Invalid value for deadLetterTargetArn.'],
    [
      { deadLetterTargetArn: 'arn:aws:sns:us-east-1:000000000000:topic', maxReceiveCount: 5 },
      'Only SQS queues are valid resources for deadLetterTargetArn.',
    ],
    [
      { deadLetterTargetArn: 'arn:aws:sqs:eu-west-1:000000000000:dead', maxReceiveCount: 5 },
      'Dead letter target owner should be same as the source.',
    ],
    [
      { deadLetterTargetArn: arn, maxReceiveCount: 5, more: 1 },
      'Only following attributes are supported: [maxReceiveCount, deadLetterTargetArn].',
    ],
  ])('is not %j', (policy, reason) => {
    const text = JSON.stringify(policy)
    const { code, message } = refusalOf(() => parseRedrivePolicy(text, scene))
    assert.equal(code, 'InvalidParameterValue')
    assert.equal(message, `Value ${text} for parameter RedrivePolicy is invalid. Reason: ${reason}`)
  })
})

describe('a redrive allow policy', () => {
  test.each([
    ['all', { redrivePermission: 'allowAll' }],
    ['none', { redrivePermission: 'denyAll' }],
    [
      ['orders'],
      { redrivePermission: 'byQueue', sourceQueueArns: [arn.replace('dead', 'orders')] },
    ],
  ] as const)('lets %j in, and is given back as it was', (sources, policy) => {
    const text = JSON.stringify(policy)
    assert.deepEqual(parseRedriveAllowPolicy(text, defaultHome), sources)
    assert.equal(formatRedriveAllowPolicy(sources, defaultHome), text)
  })

  test.each([
    'badjson',
    '[]',
    '{}',
    '{"redrivePermission":"some"}',
    '{"redrivePermission":"allowAll","more":1}',
    '{"redrivePermission":"byQueue","sourceQueueArns":"arn:aws:sqs"}',
    '{"redrivePermission":"byQueue","sourceQueueArns":[{}]}',
    '{"redrivePermission":"byQueue","sourceQueueArns":["orders"]}',
  ])('is not %s', (text) => {
    const { code, message } = refusalOf(() => parseRedriveAllowPolicy(text, defaultHome))
    assert.equal(code, 'InvalidAttributeValue')
    assert.match(message, /^Invalid value for the parameter RedriveAllowPolicy\. Reason: /)
  })

  test.each([
    ['byQueue', [], /you must also specify one or more sourceQueueArns values\.$/],
    [
      'byQueue',
      Array(11).fill(arn),
      /The maximum number of source queue ARNs you can specify is 10\.$/,
    ],
    ['allowAll', [arn], /you must set redrivePermission to byQueue\.$/],
    ['denyAll', [arn], /you must set redrivePermission to byQueue\.$/],
  ])('of %s does not go with %j', (redrivePermission, sourceQueueArns, reason) => {
    const text = JSON.stringify({ redrivePermission, sourceQueueArns })
    const { code, message } = refusalOf(() => parseRedriveAllowPolicy(text, defaultHome))
    assert.equal(code, 'InvalidParameterValue')
    assert.match(message, reason)
    assert.ok(message.startsWith(`Value ${text} for parameter RedriveAllowPolicy is invalid.`))
  })

  test('may name ten queues', () => {
    const policy = { redrivePermission: 'byQueue', sourceQueueArns: Array(10).fill(arn) }
    const sources = parseRedriveAllowPolicy(JSON.stringify(policy), defaultHome)
    assert.deepEqual(sources, Array(10).fill('dead'))
  })
})

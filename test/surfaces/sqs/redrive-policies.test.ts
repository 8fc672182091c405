/** Dead-letter queues by attributes: RedrivePolicy, RedriveAllowPolicy, ListDeadLetterSourceQueues. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { rawWire } from './raw-wire.ts'

const wire = rawWire()

function policyTo(name: string): string {
  const deadLetterTargetArn = `arn:aws:sqs:us-east-1:000000000000:${name}`
  return JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 2 })
}

async function refusal(name: string, attributes: Readonly<Record<string, string>>) {
  const input = { QueueName: name, Attributes: attributes }
  const { headers, body } = await wire.json('CreateQueue', input)
  return { code: headers.get('x-amzn-query-error'), message: body.message }
}

async function setPolicy(queue: string, attributes: Readonly<Record<string, string>>) {
  const input = { QueueUrl: queue, Attributes: attributes }
  return (await wire.json('SetQueueAttributes', input)).body.message
}

describe('a redrive policy', () => {
  test('leads to a queue that exists', async () => {
    const RedrivePolicy = policyTo('nowhere')
    const message = `Value ${RedrivePolicy} for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist.`
    const refused = { code: 'InvalidParameterValue;Sender', message }
    assert.deepEqual(await refusal('stray', { RedrivePolicy }), refused)
    assert.equal((await wire.json('GetQueueUrl', { QueueName: 'stray' })).status, 400)
    await wire.create('stray')
    assert.equal(await setPolicy('stray', { RedrivePolicy }), message)
  })

  test('leads to a queue of the same type', async () => {
    await wire.create('dead-fifo.fifo', { FifoQueue: 'true' })
    await wire.create('dead-standard')
    const reason = 'Reason: Dead-letter queue must be same type of queue as the source..'
    const toFifo = await refusal('standard', { RedrivePolicy: policyTo('dead-fifo.fifo') })
    assert.ok(toFifo.message.endsWith(reason), toFifo.message)
    const RedrivePolicy = policyTo('dead-standard')
    const toStandard = await refusal('one.fifo', { FifoQueue: 'true', RedrivePolicy })
    assert.ok(toStandard.message.endsWith(reason), toStandard.message)
  })

  test('must not lead back through another queue', async () => {
    await wire.create('round-a')
    await wire.create('round-b', { RedrivePolicy: policyTo('round-a') })
    const message = await setPolicy('round-a', { RedrivePolicy: policyTo('round-b') })
    assert.match(message, /^RedrivePolicy: got .* whose own dead letters do not return here$/)
  })

  test('may lead to the queue itself, whose messages then stay in it', async () => {
    const QueueUrl = await wire.create('ouroboros', { VisibilityTimeout: '0' })
    const RedrivePolicy = policyTo('ouroboros')
    assert.equal(await setPolicy('ouroboros', { RedrivePolicy }), undefined)
    const asked = { QueueUrl, AttributeNames: ['RedrivePolicy'] }
    assert.deepEqual((await wire.json('GetQueueAttributes', asked)).body.Attributes, {
      RedrivePolicy,
    })
    await wire.json('SendMessage', { QueueUrl, MessageBody: 'again and again' })
    const receive = { QueueUrl, AttributeNames: ['ApproximateReceiveCount'] }
    for (const count of ['1', '2', '3', '4']) {
      const [message] = (await wire.json('ReceiveMessage', receive)).body.Messages
      assert.deepEqual(message.Attributes, { ApproximateReceiveCount: count })
    }
    const sources = await wire.json('ListDeadLetterSourceQueues', { QueueUrl })
    assert.deepEqual(sources.body.queueUrls, [QueueUrl])
  })

  test('is shown, and removed by an empty one', async () => {
    await wire.create('dead')
    const QueueUrl = await wire.create('living', { RedrivePolicy: policyTo('dead') })
    const asked = { QueueUrl, AttributeNames: ['RedrivePolicy'] }
    const { body } = await wire.json('GetQueueAttributes', asked)
    assert.deepEqual(body.Attributes, { RedrivePolicy: policyTo('dead') })
    assert.equal(await setPolicy('living', { RedrivePolicy: '' }), undefined)
    assert.deepEqual((await wire.json('GetQueueAttributes', asked)).body, {})
  })
})

describe('a redrive allow policy', () => {
  const byQueue = (name: string) =>
    JSON.stringify({
      redrivePermission: 'byQueue',
      sourceQueueArns: [`arn:aws:sqs:us-east-1:000000000000:${name}`],
    })

  test.each([
    ['denyAll', '{"redrivePermission":"denyAll"}', false],
    ['allowAll', '{"redrivePermission":"allowAll"}', true],
    ['byQueue for this one', byQueue('source-2'), true],
    ['byQueue for another', byQueue('another'), false],
  ])('of %s is enforced', async (_kind, RedriveAllowPolicy, isAllowed) => {
    const dead = `dead-${RedriveAllowPolicy.length}`
    await wire.create(dead, { RedriveAllowPolicy })
    await wire.create('source-2')
    const message = await setPolicy('source-2', { RedrivePolicy: policyTo(dead) })
    if (isAllowed) assert.equal(message, undefined)
    else assert.match(message, /for parameter RedrivePolicy is invalid/)
    await setPolicy('source-2', { RedrivePolicy: '' })
  })
})

describe('ListDeadLetterSourceQueues', () => {
  test('pages like ListQueues, and has its own name for the list', async () => {
    await wire.create('common-dead')
    const urls = []
    for (const name of ['from-a', 'from-b', 'from-c']) {
      urls.push(await wire.create(name, { RedrivePolicy: policyTo('common-dead') }))
    }
    const ask = async (paging = {}) => {
      const input = { QueueUrl: 'common-dead', ...paging }
      return (await wire.json('ListDeadLetterSourceQueues', input)).body
    }
    assert.deepEqual(await ask(), { queueUrls: urls })
    const { queueUrls, NextToken } = await ask({ MaxResults: 2 })
    assert.deepEqual(queueUrls, urls.slice(0, 2))
    assert.deepEqual(await ask({ MaxResults: 2, NextToken }), { queueUrls: urls.slice(2) })
    const parameters = { Action: 'ListDeadLetterSourceQueues', QueueUrl: 'common-dead' }
    const { text } = await wire.query(parameters)
    assert.equal(text.match(/<QueueUrl>/g)?.length, 3)
  })
})

/** Creating, listing, purging and deleting queues, on a clock that moves only when told to. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { rawWire } from './raw-wire.ts'

const wire = rawWire()
const hasty = rawWire({ cooldowns: false })

const failure = async (action: string, input: unknown) => {
  const { status, headers, body } = await wire.json(action, input)
  return { status, code: headers.get('x-amzn-query-error')?.split(';')[0], message: body.message }
}

describe('creating a queue', () => {
  test('again answers the same URL with the same or no attributes', async () => {
    const attributes = { VisibilityTimeout: '10', KmsMasterKeyId: 'alias/key' }
    const url = await wire.create('again', attributes)
    assert.equal(await wire.create('again', attributes), url)
    assert.equal(await wire.create('again'), url)
    assert.equal(await wire.create('again', { KmsMasterKeyId: 'alias/key' }), url)
    assert.equal(await wire.create('again', { SqsManagedSseEnabled: 'false' }), url)
  })

  test.each([
    ['VisibilityTimeout', '11'],
    ['KmsMasterKeyId', 'alias/other'],
    ['Policy', '{"Statement":{"Effect":"Deny","Principal":"*","Action":"*"}}'],
    ['SqsManagedSseEnabled', 'false'],
    ['RedriveAllowPolicy', '{"redrivePermission":"denyAll"}'],
  ])('again with another %s is refused and names it', async (name, value) => {
    const QueueName = `other-${name}`
    await wire.create(QueueName, { DelaySeconds: '1' })
    const Attributes = { DelaySeconds: '1', [name]: value }
    assert.deepEqual(await failure('CreateQueue', { QueueName, Attributes }), {
      status: 400,
      code: 'QueueAlreadyExists',
      message: `A queue already exists with the same name and a different value for attribute ${name}`,
    })
  })

  test('compares with what SetQueueAttributes has made of it', async () => {
    const QueueUrl = await wire.create('changed', { DelaySeconds: '1' })
    await wire.json('SetQueueAttributes', { QueueUrl, Attributes: { DelaySeconds: '2' } })
    assert.equal(await wire.create('changed', { DelaySeconds: '2' }), QueueUrl)
    const old = { QueueName: 'changed', Attributes: { DelaySeconds: '1' } }
    assert.equal((await failure('CreateQueue', old)).code, 'QueueAlreadyExists')
  })

  test.each([
    [undefined, {}, 'Value for parameter QueueName is invalid. Reason: Must specify a queue name.'],
    ['', {}, 'Queue name cannot be empty'],
    [
      'a.b',
      {},
      'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length',
    ],
    [
      'q'.repeat(81),
      {},
      'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length',
    ],
    [
      'a.fifo',
      {},
      'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length',
    ],
    [
      'a.fifo',
      { FifoQueue: 'false' },
      'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length',
    ],
    [
      'a',
      { FifoQueue: 'true' },
      'The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length',
    ],
  ])('named %j with %j is refused', async (QueueName, Attributes, message) => {
    assert.deepEqual(await failure('CreateQueue', { QueueName, Attributes }), {
      status: 400,
      code: 'InvalidParameterValue',
      message,
    })
  })

  test('keeps tags, and refuses more than 50', async () => {
    const tags = { Team: 'grüße', empty: '' }
    const { body } = await wire.json('CreateQueue', { QueueName: 'tagged', tags })
    const { QueueUrl } = body
    assert.deepEqual((await wire.json('ListQueueTags', { QueueUrl })).body, { Tags: tags })
    const many = Object.fromEntries(Array.from({ length: 49 }, (_, n) => [`tag-${n}`, 'x']))
    const refused = await failure('TagQueue', { QueueUrl, Tags: many })
    assert.equal(refused.code, 'InvalidParameterValue')
  })

  test('keeps a tag that is called like a part of every object', async () => {
    const input = '{"QueueName":"proto","tags":{"__proto__":"x","constructor":"y"}}'
    const { body } = await wire.json('CreateQueue', input)
    const { text } = await wire.json('ListQueueTags', { QueueUrl: body.QueueUrl })
    assert.equal(text, '{"Tags":{"__proto__":"x","constructor":"y"}}')
  })
})

describe('the cool-down', () => {
  test('delete then create: 60 s QueueDeletedRecently', async () => {
    const QueueUrl = await wire.create('deleted')
    assert.equal((await wire.json('DeleteQueue', { QueueUrl })).status, 200)
    const refused = {
      status: 400,
      code: 'AWS.SimpleQueueService.QueueDeletedRecently',
      message:
        'You must wait 60 seconds after deleting a queue before you can create another with the same name.',
    }
    assert.deepEqual(await failure('CreateQueue', { QueueName: 'deleted' }), refused)
    await wire.clock.advance(59_999)
    assert.deepEqual(await failure('CreateQueue', { QueueName: 'deleted' }), refused)
    await wire.clock.advance(1)
    assert.equal(await wire.create('deleted'), QueueUrl)
  })

  test('purge again within 60 s: 403', async () => {
    const QueueUrl = await wire.create('purged')
    assert.equal((await wire.json('PurgeQueue', { QueueUrl })).status, 200)
    assert.deepEqual(await failure('PurgeQueue', { QueueUrl }), {
      status: 403,
      code: 'AWS.SimpleQueueService.PurgeQueueInProgress',
      message: 'Only one PurgeQueue operation on purged is allowed every 60 seconds.',
    })
    await wire.clock.advance(60_000)
    assert.equal((await wire.json('PurgeQueue', { QueueUrl })).status, 200)
  })

  test('can be switched off', async () => {
    const QueueUrl = await hasty.create('hasty')
    for (const action of ['PurgeQueue', 'PurgeQueue', 'DeleteQueue']) {
      assert.equal((await hasty.json(action, { QueueUrl })).status, 200)
    }
    assert.equal(await hasty.create('hasty'), QueueUrl)
  })
})

describe('listing queues', () => {
  test('goes by prefix, in pages when MaxResults is given', async () => {
    const urls = []
    for (const number of [1, 2, 3]) urls.push(await wire.create(`page-${number}`))
    const QueueNamePrefix = 'page-'
    const whole = await wire.json('ListQueues', { QueueNamePrefix })
    assert.deepEqual(whole.body, { QueueUrls: urls })
    const first = await wire.json('ListQueues', { QueueNamePrefix, MaxResults: 2 })
    assert.deepEqual(first.body.QueueUrls, urls.slice(0, 2))
    const { NextToken } = first.body
    const second = await wire.json('ListQueues', { QueueNamePrefix, MaxResults: 2, NextToken })
    assert.deepEqual(second.body, { QueueUrls: urls.slice(2) })
  })

  test('refuses a token that is none and pages out of bounds', async () => {
    const refused = await failure('ListQueues', { MaxResults: 1, NextToken: '%' })
    assert.deepEqual(refused.code, 'InvalidParameterValue')
    for (const MaxResults of [0, -1, 1_001]) {
      assert.deepEqual(await failure('ListQueues', { MaxResults }), {
        status: 400,
        code: 'InvalidParameterValue',
        message: `Value ${MaxResults} for parameter MaxResults is invalid. Reason: MaxResults must be an integer between 1 and 1000.`,
      })
    }
  })
})

describe('changing attributes at the same time', () => {
  test('loses none', async () => {
    const QueueUrl = await wire.create('busy')
    const labels = Array.from({ length: 12 }, (_, number) => `label-${number}`)
    const permission = { QueueUrl, AWSAccountIds: ['111111111111'], Actions: ['SendMessage'] }
    const calls = labels.map((Label) => wire.json('AddPermission', { ...permission, Label }))
    const key = { QueueUrl, Attributes: { KmsMasterKeyId: 'alias/key' } }
    calls.push(wire.json('SetQueueAttributes', key), wire.json('AddPermission', { QueueUrl }))
    await Promise.all(calls)
    const asked = { QueueUrl, AttributeNames: ['Policy', 'KmsMasterKeyId'] }
    const { Attributes } = (await wire.json('GetQueueAttributes', asked)).body
    assert.equal(Attributes.KmsMasterKeyId, 'alias/key')
    const sids = JSON.parse(Attributes.Policy).Statement.map(({ Sid }: { Sid: string }) => Sid)
    assert.deepEqual(sids.sort(), labels.sort())
  })
})

/** The attributes of queues, with the texts of AWS's refusals. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  assertRefused,
  attributesOf,
  clientKinds,
  newFifoQueue,
  newQueue,
  receive,
  send,
  systemAttributes,
} from './queue-scene.ts'
import type { SqsClient } from './sqs-client.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-attributes')

const timestamps = ['CreatedTimestamp', 'LastModifiedTimestamp']

/** What a new queue shows, but for its name and the times. */
const defaults = {
  ApproximateNumberOfMessages: '0',
  ApproximateNumberOfMessagesDelayed: '0',
  ApproximateNumberOfMessagesNotVisible: '0',
  DelaySeconds: '0',
  MaximumMessageSize: '1048576',
  MessageRetentionPeriod: '345600',
  ReceiveMessageWaitTimeSeconds: '0',
  SqsManagedSseEnabled: 'true',
  VisibilityTimeout: '30',
}

async function steadyAttributes(
  client: SqsClient,
  queue: { readonly url: string },
): Promise<Readonly<Record<string, string>>> {
  const attributes = await attributesOf(client, queue)
  for (const name of timestamps) assert.match(attributes[name] ?? '', /^\d{10}$/)
  return Object.fromEntries(
    Object.entries(attributes).filter(([name]) => !timestamps.includes(name)),
  )
}

const set = (
  client: SqsClient,
  url: string,
  attributes: Record<string, string>,
): Promise<unknown> => client.call('SetQueueAttributes', { QueueUrl: url, Attributes: attributes })

describe.concurrent.each(clientKinds)('the attributes of queues, with $name', (kind) => {
  const open = () => server.client(kind)

  test('a new standard queue has exactly twelve', async () => {
    const client = open()
    const queue = await newQueue(client)
    assert.deepEqual(await steadyAttributes(client, queue), { ...defaults, QueueArn: queue.arn })
  })

  test('a FIFO queue has four more, whose booleans may be written in any case', async () => {
    const client = open()
    const queue = await newFifoQueue(client, {
      FifoQueue: 'True',
      ContentBasedDeduplication: 'TRUE',
    })
    const fifo = {
      ...defaults,
      QueueArn: queue.arn,
      FifoQueue: 'true',
      DeduplicationScope: 'queue',
      FifoThroughputLimit: 'perQueue',
    }
    const before = { ...fifo, ContentBasedDeduplication: 'true' }
    assert.deepEqual(await steadyAttributes(client, queue), before)
    await set(client, queue.url, { ContentBasedDeduplication: 'false' })
    const after = { ...fifo, ContentBasedDeduplication: 'false' }
    assert.deepEqual(await steadyAttributes(client, queue), after)
  })

  test('only those that are asked for are answered', async () => {
    const client = open()
    const queue = await newQueue(client)
    const asked = await attributesOf(client, queue, ['QueueArn', 'VisibilityTimeout'])
    assert.deepEqual(asked, { QueueArn: queue.arn, VisibilityTimeout: '30' })
    assert.deepEqual(await client.call('GetQueueAttributes', { QueueUrl: queue.url }), {})
  })

  test('asking for one that does not exist is refused', async () => {
    const client = open()
    const { url } = await newQueue(client)
    // The names are typed; a program in another language may ask for anything.
    const AttributeNames = ['Foobar' as 'All']
    await assertRefused(client.call('GetQueueAttributes', { QueueUrl: url, AttributeNames }), {
      code: 'InvalidAttributeName',
      message: 'Unknown Attribute Foobar.',
    })
  })

  test('they can be given at creation and changed later', async () => {
    const client = open()
    const queue = await newQueue(client, {
      MessageRetentionPeriod: '604800',
      ReceiveMessageWaitTimeSeconds: '10',
      VisibilityTimeout: '20',
    })
    const created = {
      ...defaults,
      QueueArn: queue.arn,
      MessageRetentionPeriod: '604800',
      ReceiveMessageWaitTimeSeconds: '10',
      VisibilityTimeout: '20',
    }
    assert.deepEqual(await steadyAttributes(client, queue), created)
    const changes = { MaximumMessageSize: '2048', VisibilityTimeout: '69', DelaySeconds: '420' }
    await set(client, queue.url, changes)
    assert.deepEqual(await steadyAttributes(client, queue), { ...created, ...changes })
  })

  test.each([
    ['VisibilityTimeout', ['-1', '43201', 'soon']],
    ['DelaySeconds', ['-1', '901']],
    ['MessageRetentionPeriod', ['59', '1209601']],
    ['MaximumMessageSize', ['1023', '1048577']],
    ['ReceiveMessageWaitTimeSeconds', ['-1', '21']],
  ])('%s is refused out of its bounds', async (name, values) => {
    const client = open()
    const { url } = await newQueue(client)
    for (const value of values) {
      const refused = {
        code: 'InvalidAttributeValue',
        message: `Invalid value for the parameter ${name}.`,
      }
      await assertRefused(set(client, url, { [name]: value }), refused)
      await assertRefused(newQueue(client, { [name]: value }), refused)
    }
  })

  test.each([
    ['FifoQueue', 'false', 'Unknown Attribute FifoQueue.'],
    ['ContentBasedDeduplication', 'false', 'Unknown Attribute ContentBasedDeduplication.'],
    [
      'DeduplicationScope',
      'queue',
      'You can specify the DeduplicationScope only when FifoQueue is set to true.',
    ],
    [
      'FifoThroughputLimit',
      'perQueue',
      'You can specify the FifoThroughputLimit only when FifoQueue is set to true.',
    ],
    ['Foobar', 'x', 'Unknown Attribute Foobar.'],
  ])('%s is refused at the creation of a standard queue', async (name, value, message) => {
    const refused = { code: 'InvalidAttributeName', message }
    await assertRefused(newQueue(open(), { [name]: value }), refused)
  })

  test('the kind of a queue cannot be changed', async () => {
    const client = open()
    const { url } = await newQueue(client)
    for (const value of ['true', 'false']) {
      await assertRefused(set(client, url, { FifoQueue: value }), {
        code: 'InvalidAttributeName',
        message: 'Unknown Attribute FifoQueue.',
      })
    }
    const fifo = await newFifoQueue(client)
    await set(client, fifo.url, { FifoQueue: 'true' })
    await assertRefused(set(client, fifo.url, { FifoQueue: 'false' }), {
      code: 'InvalidAttributeValue',
      message:
        'Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.',
    })
  })

  test('a limit for each message group needs deduplication for each message group', async () => {
    const client = open()
    const { url } = await newFifoQueue(client)
    await assertRefused(set(client, url, { FifoThroughputLimit: 'perMessageGroupId' }), {
      code: 'InvalidAttributeValue',
    })
    const both = { FifoThroughputLimit: 'perMessageGroupId', DeduplicationScope: 'messageGroup' }
    await set(client, url, both)
    const names = ['FifoThroughputLimit' as const, 'DeduplicationScope' as const]
    assert.deepEqual(await attributesOf(client, { url }, names), both)
  })

  test('an empty policy removes the policy', async () => {
    const client = open()
    const { url, arn } = await newQueue(client)
    const policy = JSON.stringify({
      Version: '2012-10-17',
      Statement: [
        { Effect: 'Allow', Principal: { AWS: '*' }, Action: 'sqs:SendMessage', Resource: arn },
      ],
    })
    await set(client, url, { Policy: '' })
    assert.ok(!('Policy' in (await attributesOf(client, { url }))))
    await set(client, url, { Policy: policy })
    assert.deepEqual(await attributesOf(client, { url }, ['Policy']), { Policy: policy })
    assert.equal((await attributesOf(client, { url }))['Policy'], policy)
    await set(client, url, { Policy: '' })
    assert.ok(!('Policy' in (await attributesOf(client, { url }))))
  })

  test('a KMS key switches the encryption of SQS off, and its removal leaves it off', async () => {
    const client = open()
    const queue = await newQueue(client)
    const key = { KmsMasterKeyId: 'testKeyId', KmsDataKeyReusePeriodSeconds: '6000' }
    await set(client, queue.url, key)
    const withKey = { ...defaults, ...key, QueueArn: queue.arn, SqsManagedSseEnabled: 'false' }
    assert.deepEqual(await steadyAttributes(client, queue), withKey)
    await set(client, queue.url, { KmsMasterKeyId: '', KmsDataKeyReusePeriodSeconds: '300' })
    const without = { ...defaults, QueueArn: queue.arn, SqsManagedSseEnabled: 'false' }
    assert.deepEqual(await steadyAttributes(client, queue), without)
  })

  test('a KMS key and the encryption of SQS exclude each other', async () => {
    const client = open()
    const { url } = await newQueue(client)
    const both = { KmsMasterKeyId: 'testKeyId', SqsManagedSseEnabled: 'true' }
    await assertRefused(set(client, url, both), {
      code: 'InvalidAttributeName',
      message:
        'You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.',
    })
    const names = [
      'KmsMasterKeyId' as const,
      'KmsDataKeyReusePeriodSeconds' as const,
      'SqsManagedSseEnabled' as const,
    ]
    await set(client, url, { SqsManagedSseEnabled: 'true' })
    assert.deepEqual(await attributesOf(client, { url }, names), { SqsManagedSseEnabled: 'true' })
    const kms = {
      KmsMasterKeyId: 'testKeyId',
      KmsDataKeyReusePeriodSeconds: '6000',
      SqsManagedSseEnabled: 'false',
    }
    await set(client, url, kms)
    assert.deepEqual(await attributesOf(client, { url }, names), kms)
  })

  test('the counts tell what is visible, in flight and delayed', async () => {
    const client = open()
    const queue = await newQueue(client)
    for (const body of ['one', 'two', 'three']) await send(client, queue, body)
    await send(client, queue, 'later', { DelaySeconds: 900 })
    await receive(client, queue, { MaxNumberOfMessages: 1 })
    const names = [
      'ApproximateNumberOfMessages' as const,
      'ApproximateNumberOfMessagesNotVisible' as const,
      'ApproximateNumberOfMessagesDelayed' as const,
    ]
    assert.deepEqual(await attributesOf(client, queue, names), {
      ApproximateNumberOfMessages: '2',
      ApproximateNumberOfMessagesNotVisible: '1',
      ApproximateNumberOfMessagesDelayed: '1',
    })
  })

  test('of a FIFO queue, messages behind one in flight still count as visible', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    for (const [body, group] of ['11', '12', '21', '22', '31', '32'].map((n) => [n, n[0]])) {
      await send(client, queue, `${body}`, { MessageGroupId: `${group}` })
    }
    const groups = []
    for (const _time of [1, 2]) {
      const asked = systemAttributes(client, ['MessageGroupId'])
      const [message] = await receive(client, queue, { MaxNumberOfMessages: 1, ...asked })
      groups.push(message?.Attributes?.MessageGroupId)
    }
    assert.deepEqual(groups, ['1', '2'])
    const { ApproximateNumberOfMessages, ApproximateNumberOfMessagesNotVisible } =
      await attributesOf(client, queue)
    assert.equal(ApproximateNumberOfMessages, '4')
    assert.equal(ApproximateNumberOfMessagesNotVisible, '2')
  })
})

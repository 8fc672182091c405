/** What a FIFO queue takes for the same message. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  assertRefused,
  clientKinds,
  invalidIds,
  newFifoQueue,
  receive,
  receiveBodies,
  receiveOne,
  send,
} from './queue-scene.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-deduplication')

const body = '{"foo": "bar"}'

describe.concurrent.each(clientKinds)('deduplication, with $name', (kind) => {
  const open = () => server.client(kind)

  test.each([
    ['its content', 'true', {}],
    ['its id', 'false', { MessageDeduplicationId: 'dedup1' }],
  ])('a message is known by %s, also after its deletion', async (_what, byContent, id) => {
    const client = open()
    const queue = await newFifoQueue(client, { ContentBasedDeduplication: byContent })
    const input = { MessageGroupId: 'group-1', ...id }
    const first = await send(client, queue, body, input)
    assert.deepEqual(await send(client, queue, body, input), first)
    const { ReceiptHandle } = await receiveOne(client, queue)
    await client.call('DeleteMessage', { QueueUrl: queue.url, ReceiptHandle })
    assert.deepEqual(await send(client, queue, body, input), first)
    assert.deepEqual(await receive(client, queue), [])
  })

  test.each([
    ['content', 'true', {}],
    ['id', 'false', { MessageDeduplicationId: 'dedup1' }],
  ])('the same %s in another group is the same message', async (_what, byContent, id) => {
    const client = open()
    const queue = await newFifoQueue(client, { ContentBasedDeduplication: byContent })
    await send(client, queue, body, { MessageGroupId: 'group-1', ...id })
    await send(client, queue, body, { MessageGroupId: 'group-2', ...id })
    assert.equal((await receive(client, queue)).length, 1)
  })

  test('an id counts more than the content', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    for (const MessageDeduplicationId of ['one', 'two']) {
      await send(client, queue, body, { MessageGroupId: 'g', MessageDeduplicationId })
    }
    await send(client, queue, 'other', { MessageGroupId: 'g', MessageDeduplicationId: 'one' })
    assert.deepEqual(await receiveBodies(client, queue), [body, body])
  })

  test('attributes are not part of the content', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    for (const StringValue of ['one', 'two']) {
      const MessageAttributes = { a: { DataType: 'String', StringValue } }
      await send(client, queue, body, { MessageGroupId: 'g', MessageAttributes })
    }
    assert.equal((await receive(client, queue)).length, 1)
  })

  test.each([
    ['with', { FifoThroughputLimit: 'perMessageGroupId' }],
    ['without', {}],
  ])('groups have ids of their own, %s a limit for each', async (_what, limit) => {
    const client = open()
    const queue = await newFifoQueue(client, { DeduplicationScope: 'messageGroup', ...limit })
    for (const MessageGroupId of ['group1', 'group2', 'group2']) {
      await send(client, queue, 'Test', { MessageGroupId, MessageDeduplicationId: 'same' })
    }
    assert.deepEqual(await receiveBodies(client, queue), ['Test', 'Test'])
  })

  test('a scope that is changed later counts for messages sent from then on', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    const sendTo = (MessageGroupId: string) =>
      send(client, queue, MessageGroupId, { MessageGroupId, MessageDeduplicationId: 'later' })
    await client.call('SetQueueAttributes', {
      QueueUrl: queue.url,
      Attributes: { DeduplicationScope: 'messageGroup' },
    })
    for (const group of ['group1', 'group2']) await sendTo(group)
    assert.deepEqual(await receiveBodies(client, queue), ['group1', 'group2'])
  })

  test.each(invalidIds(kind.protocol))(
    'an id that is %s is refused',
    async (_what, MessageDeduplicationId) => {
      const client = open()
      const queue = await newFifoQueue(client, { ContentBasedDeduplication: 'false' })
      const call = send(client, queue, 'x', { MessageGroupId: 'g', MessageDeduplicationId })
      await assertRefused(call, {
        code: 'InvalidParameterValue',
        message: `Value ${MessageDeduplicationId} for parameter MessageDeduplicationId is invalid. Reason: MessageDeduplicationId can only include alphanumeric and punctuation characters. 1 to 128 in length.`,
      })
    },
  )

  test('an id of 128 characters with all punctuation is fine', async () => {
    const client = open()
    const queue = await newFifoQueue(client, { ContentBasedDeduplication: 'false' })
    const punctuation = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'
    const MessageDeduplicationId = punctuation.padEnd(128, 'a')
    await send(client, queue, 'x', { MessageGroupId: punctuation, MessageDeduplicationId })
    assert.deepEqual(await receiveBodies(client, queue), ['x'])
  })
})

/** The order of FIFO queues, and what a message in flight means for the others of its group. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { receiveAll, sendAll } from './fifo-scene.ts'
import {
  assertRefused,
  attributesOf,
  clientKinds,
  invalidIds,
  newFifoQueue,
  newQueue,
  receive,
  receiveBodies,
  receiveOne,
  send,
} from './queue-scene.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-fifo-groups')

describe.concurrent.each(clientKinds)('FIFO groups, with $name', (kind) => {
  const open = () => server.client(kind)

  test('one receive takes all it can of the first group before the next', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    await sendAll(client, queue, 'g1-m1 g2-m1 g1-m2 g1-m3')
    assert.equal(await receiveAll(client, queue), 'g1-m1 g1-m2 g1-m3 g2-m1')
  })

  test('messages come in the order in which they were sent', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    await sendAll(client, queue, 'g1-m1 g1-m2 g1-m3 g1-m4')
    for (const body of ['g1-m1', 'g1-m2', 'g1-m3', 'g1-m4']) {
      const message = await receiveOne(client, queue, { MaxNumberOfMessages: 1 })
      assert.equal(message.Body, body)
      const { ReceiptHandle } = message
      await client.call('DeleteMessage', { QueueUrl: queue.url, ReceiptHandle })
    }
  })

  test('the numbers of messages rise', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    const sequence: string[] = []
    for (const body of ['a', 'b', 'c']) {
      const { SequenceNumber = '' } = await send(client, queue, body, { MessageGroupId: body })
      sequence.push(SequenceNumber)
    }
    assert.deepEqual(sequence.toSorted(), sequence)
    assert.equal(new Set(sequence).size, 3)
  })

  test('a group in flight gives nothing more, also not what is sent now', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    await sendAll(client, queue, 'g1-m1 g1-m2 g2-m1')
    assert.equal(await receiveAll(client, queue, { MaxNumberOfMessages: 1 }), 'g1-m1')
    await sendAll(client, queue, 'g1-m3')
    assert.equal(await receiveAll(client, queue), 'g2-m1')
    assert.equal(await receiveAll(client, queue), '')
  })

  test('order is kept when the visibility timeout ends', async () => {
    const client = open()
    const queue = await newFifoQueue(client, { VisibilityTimeout: '1' })
    await sendAll(client, queue, 'g1-m1 g1-m2 g1-m3')
    assert.equal(await receiveAll(client, queue), 'g1-m1 g1-m2 g1-m3')
    assert.equal(await receiveAll(client, queue, { WaitTimeSeconds: 20 }), 'g1-m1 g1-m2 g1-m3')
  })

  test('the deletion of all that were in flight frees the group', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    await sendAll(client, queue, 'g1-m1 g2-m1 g1-m2 g2-m2 g1-m3 g1-m4 g3-m1')
    const messages = await receive(client, queue, { MaxNumberOfMessages: 2 })
    for (const { ReceiptHandle } of messages) {
      await client.call('DeleteMessage', { QueueUrl: queue.url, ReceiptHandle })
    }
    const order = await receiveAll(client, queue)
    // AWS shows the first order. The second is as right: no promise is made between groups.
    const orders = ['g2-m1 g2-m2 g1-m3 g1-m4 g3-m1', 'g2-m1 g2-m2 g3-m1 g1-m3 g1-m4']
    assert.ok(orders.includes(order), order)
  })

  test('the deletion of some that were in flight does not free the group', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    await sendAll(client, queue, 'g1-m1 g2-m1 g1-m2 g2-m2 g1-m3 g1-m4 g3-m1')
    const [first] = await receive(client, queue, { MaxNumberOfMessages: 2 })
    const { ReceiptHandle } = first ?? {}
    await client.call('DeleteMessage', { QueueUrl: queue.url, ReceiptHandle })
    assert.equal(await receiveAll(client, queue), 'g2-m1 g2-m2 g3-m1')
  })

  test('a group that has been emptied takes new messages', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    await sendAll(client, queue, 'g1-m1')
    const { ReceiptHandle } = await receiveOne(client, queue)
    await client.call('DeleteMessage', { QueueUrl: queue.url, ReceiptHandle })
    assert.equal(await receiveAll(client, queue), '')
    await sendAll(client, queue, 'g1-m2')
    assert.equal(await receiveAll(client, queue), 'g1-m2')
  })

  test('the count of visible messages stays right while groups are locked', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    const visible = async () => (await attributesOf(client, queue))['ApproximateNumberOfMessages']
    await sendAll(client, queue, 'g1-m1 g1-m2 g1-m3 g2-m1 g3-m1')
    assert.equal(await visible(), '5')
    const messages = await receive(client, queue, { MaxNumberOfMessages: 4 })
    assert.equal(await visible(), '1')
    for (const { ReceiptHandle } of messages) {
      await client.call('DeleteMessage', { QueueUrl: queue.url, ReceiptHandle })
    }
    assert.equal(await visible(), '1')
  })

  test('delays are a matter of the queue', async () => {
    const client = open()
    const queue = await newFifoQueue(client, { DelaySeconds: '5' })
    await assertRefused(send(client, queue, 'x', { MessageGroupId: 'g', DelaySeconds: 2 }), {
      code: 'InvalidParameterValue',
      message:
        'Value 2 for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for this queue type.',
    })
    // Zero means what the queue says.
    await send(client, queue, 'one', { MessageGroupId: 'g', DelaySeconds: 0 })
    await send(client, queue, 'two', { MessageGroupId: 'g' })
    assert.equal(await receiveAll(client, queue), '')
    assert.equal(
      await receiveAll(client, queue, { WaitTimeSeconds: 20, MaxNumberOfMessages: 1 }),
      'one',
    )
  })

  test('a message needs a group, and an id where the content does not make one', async () => {
    const client = open()
    const queue = await newFifoQueue(client, { ContentBasedDeduplication: 'false' })
    await assertRefused(send(client, queue, 'x', { MessageDeduplicationId: 'd' }), {
      code: 'MissingParameter',
      message: 'The request must contain the parameter MessageGroupId.',
    })
    await assertRefused(send(client, queue, 'x', { MessageGroupId: 'g' }), {
      code: 'InvalidParameterValue',
      message:
        'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
    })
  })

  test.each(invalidIds(kind.protocol))(
    'a message group that is %s is refused',
    async (_what, MessageGroupId) => {
      const client = open()
      const refused = {
        code: 'InvalidParameterValue',
        message: `Value ${MessageGroupId} for parameter MessageGroupId is invalid. Reason: MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length.`,
      }
      await assertRefused(send(client, await newQueue(client), 'x', { MessageGroupId }), refused)
      await assertRefused(
        send(client, await newFifoQueue(client), 'x', { MessageGroupId }),
        refused,
      )
    },
  )

  test('control characters have no place in ids', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    const refused = { code: 'InvalidParameterValue' }
    await assertRefused(send(client, queue, 'x', { MessageGroupId: 'a\u0008' }), refused)
    const input = { MessageGroupId: 'g', MessageDeduplicationId: 'a\u0008' }
    await assertRefused(send(client, queue, 'x', input), refused)
  })

  test('a receive that is tried again with its attempt id gets the same messages', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    await sendAll(client, queue, 'g1-m1 g1-m2 g2-m1')
    const attempt = { ReceiveRequestAttemptId: 'attempt-1', MaxNumberOfMessages: 2 }
    const first = await receive(client, queue, attempt)
    const again = await receive(client, queue, attempt)
    assert.deepEqual(again, first)
    const [{ ReceiptHandle } = {}] = first
    await client.call('DeleteMessage', { QueueUrl: queue.url, ReceiptHandle })
    const later = await receiveBodies(client, queue, attempt)
    assert.deepEqual(later, ['g2-m1'])
  })
})

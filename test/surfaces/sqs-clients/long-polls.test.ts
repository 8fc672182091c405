/** Receives that wait. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  clientKinds,
  groupFor,
  newFifoQueue,
  newQueue,
  newQueueOf,
  queueKinds,
  receiveBodies,
  receiveOne,
  send,
} from './queue-scene.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-polls')

/** How long a call takes, in milliseconds. */
async function timed(call: Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await call
  return performance.now() - startedAt
}

describe.concurrent.each(clientKinds)('long polls, with $name', (kind) => {
  const open = () => server.client(kind)

  test.each(queueKinds)('a send to a %s queue ends them', async (queueKind) => {
    const client = open()
    const queue = await newQueueOf(queueKind, client)
    const polls = [1, 2].map(() => receiveBodies(client, queue, { WaitTimeSeconds: 20 }))
    await send(client, queue, 'news', groupFor(queueKind))
    assert.deepEqual(await Promise.race(polls), ['news'])
    await send(client, queue, 'more', { MessageGroupId: 'other' })
    const bodies = (await Promise.all(polls)).flat()
    assert.deepEqual(bodies.toSorted(), ['more', 'news'])
  })

  test('the queue says how long, unless the request does', async () => {
    const client = open()
    const queue = await newQueue(client, { ReceiveMessageWaitTimeSeconds: '20' })
    const poll = receiveBodies(client, queue)
    const look = receiveBodies(client, queue, { WaitTimeSeconds: 0 })
    assert.equal(await Promise.race([poll.then(() => 'poll'), look.then(() => 'look')]), 'look')
    await send(client, queue, 'news')
    assert.deepEqual(await Promise.all([poll, look]), [['news'], []])
  })

  test('one that ends with nothing has waited, and has no list of messages', async () => {
    const client = open()
    const { url: QueueUrl } = await newQueue(client)
    const poll = client.call('ReceiveMessage', { QueueUrl, WaitTimeSeconds: 1 })
    assert.ok((await timed(poll)) >= 950)
    assert.deepEqual(await poll, {})
  })

  test('messages that are there are not waited for, however many were asked for', async () => {
    const client = open()
    const [queue, empty] = [await newQueue(client), await newQueue(client)]
    await send(client, queue, 'one')
    await send(client, queue, 'two')
    const polls = [empty, queue].map((each) => receiveBodies(client, each, { WaitTimeSeconds: 20 }))
    assert.ok((await Promise.race(polls)).length > 0)
    await send(client, empty, 'news')
    await Promise.all(polls)
  })

  test('the end of a delay ends them', async () => {
    const client = open()
    const queue = await newQueue(client)
    const startedAt = performance.now()
    await send(client, queue, 'later', { DelaySeconds: 1 })
    assert.deepEqual(await receiveBodies(client, queue, { WaitTimeSeconds: 20 }), ['later'])
    assert.ok(performance.now() - startedAt >= 950)
  })

  test('a delay of the queue holds for messages without one of their own', async () => {
    const client = open()
    const queue = await newQueue(client, { DelaySeconds: '5' })
    await send(client, queue, 'as the queue says')
    await send(client, queue, 'at once', { DelaySeconds: 0 })
    assert.deepEqual(await receiveBodies(client, queue), ['at once'])
    const late = await receiveBodies(client, queue, { WaitTimeSeconds: 20 })
    assert.deepEqual(late, ['as the queue says'])
  })

  test('the end of a visibility timeout ends them', async () => {
    const client = open()
    const queue = await newQueue(client)
    await send(client, queue, 'again')
    const { ReceiptHandle } = await receiveOne(client, queue)
    const poll = receiveBodies(client, queue, { WaitTimeSeconds: 20 })
    const input = { QueueUrl: queue.url, ReceiptHandle, VisibilityTimeout: 1 }
    await client.call('ChangeMessageVisibility', input)
    assert.deepEqual(await poll, ['again'])
  })

  test('the delete of a message in flight ends them for its group', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    await send(client, queue, 'first', { MessageGroupId: 'g' })
    const { ReceiptHandle } = await receiveOne(client, queue)
    const poll = receiveBodies(client, queue, { WaitTimeSeconds: 20 })
    await send(client, queue, 'second', { MessageGroupId: 'g' })
    await client.call('DeleteMessage', { QueueUrl: queue.url, ReceiptHandle })
    assert.deepEqual(await poll, ['second'])
  })
})

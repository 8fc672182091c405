/**
 * Groups of which some messages come back while others are still in flight: a group gives out what is
 * before the first of its messages in flight, and of two groups the one first whose head could be
 * received for longer.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { receiveAll, sendAll } from './fifo-scene.ts'
import { clientKinds, type NewQueue, newFifoQueue, receive } from './queue-scene.ts'
import type { SqsClient } from './sqs-client.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-fifo-restarts')

const change = (client: SqsClient, queue: NewQueue, handle: string | undefined, seconds: number) =>
  client.call('ChangeMessageVisibility', {
    QueueUrl: queue.url,
    ReceiptHandle: handle,
    VisibilityTimeout: seconds,
  })

describe.concurrent.each(clientKinds)('groups that come back in part, with $name', (kind) => {
  const open = () => server.client(kind)

  /** What can be received once two of three messages have come back and one has been extended. */
  async function visibleBesides(extended: number): Promise<string> {
    const client = open()
    const queue = await newFifoQueue(client, { VisibilityTimeout: '5' })
    await sendAll(client, queue, 'g1-m1 g1-m2 g1-m3')
    const messages = await receive(client, queue)
    assert.equal(messages.length, 3)
    await change(client, queue, messages[extended]?.ReceiptHandle, 60)
    // With nothing to come the poll waits for its end, which is after that of the others.
    return receiveAll(client, queue, { WaitTimeSeconds: 6 })
  }

  test('an extended head keeps the rest back', async () => {
    assert.equal(await visibleBesides(0), '')
  })

  test('an extended message keeps back those after it', async () => {
    assert.equal(await visibleBesides(1), 'g1-m1')
  })

  test('an extended last message keeps back only itself', async () => {
    assert.equal(await visibleBesides(2), 'g1-m1 g1-m2')
  })

  test('a head that is given back comes again, though others are in flight', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    await sendAll(client, queue, 'g1-m1 g1-m2 g2-m1')
    const [head] = await receive(client, queue, { MaxNumberOfMessages: 2 })
    await change(client, queue, head?.ReceiptHandle, 0)
    assert.equal(await receiveAll(client, queue), 'g2-m1 g1-m1')
  })

  test('a group that came back is behind those that were not served', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    await sendAll(client, queue, 'g1-m1 g2-m1 g2-m2 g3-m1 g1-m2')
    const first = { MaxNumberOfMessages: 3, VisibilityTimeout: 0 }
    assert.equal(await receiveAll(client, queue, first), 'g1-m1 g1-m2 g2-m1')
    const all = { VisibilityTimeout: 0 }
    assert.equal(await receiveAll(client, queue, all), 'g3-m1 g1-m1 g1-m2 g2-m1 g2-m2')
  })
})

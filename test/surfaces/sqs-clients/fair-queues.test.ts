/** Message groups on standard queues: one tenant's flood does not keep the others waiting. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { clientKinds, newQueue, receive, receiveBodies, send } from './queue-scene.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-fair-queues')

describe.concurrent.each(clientKinds)('fair queues, with $name', (kind) => {
  test('quiet tenants are served before one that has much in flight', async () => {
    const client = server.client(kind)
    const queue = await newQueue(client)
    for (const batch of [0, 1, 2, 3, 4]) {
      const Entries = Array.from({ length: 10 }, (_, n) => ({
        Id: `${n}`,
        MessageBody: `flood-${batch}-${n}`,
        MessageGroupId: 'noisy',
      }))
      await client.call('SendMessageBatch', { QueueUrl: queue.url, Entries })
    }
    for (const _batch of [0, 1, 2, 3]) assert.equal((await receive(client, queue)).length, 10)
    await send(client, queue, 'small', { MessageGroupId: 'quiet' })
    await send(client, queue, 'alone')
    const served = await receiveBodies(client, queue, { MaxNumberOfMessages: 3 })
    assert.deepEqual(served, ['small', 'alone', 'flood-4-0'])
  })
})

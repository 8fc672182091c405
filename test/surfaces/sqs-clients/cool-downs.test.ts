/** What AWS allows once a minute, and what a server for tests allows at any time. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { awsCommand } from './aws-command.ts'
import { assertRefused, clientKinds, newQueue, simpleQueue } from './queue-scene.ts'
import { wireServer } from './wire-server.ts'

const careful = wireServer('sqs-cool-downs', { cooldowns: true })
const quick = wireServer('sqs-no-cool-downs')

describe.concurrent.each([...clientKinds, awsCommand])('cool-downs, with $name', (kind) => {
  test('the name of a deleted queue is blocked for a minute', async () => {
    const client = careful.client(kind)
    const { name, url } = await newQueue(client)
    await client.call('DeleteQueue', { QueueUrl: url })
    await assertRefused(newQueue(client, {}, name), {
      code: simpleQueue('QueueDeletedRecently'),
      message:
        'You must wait 60 seconds after deleting a queue before you can create another with the same name.',
    })
  })

  test('a queue is purged once a minute', async () => {
    const client = careful.client(kind)
    const { name, url } = await newQueue(client)
    await client.call('PurgeQueue', { QueueUrl: url })
    await assertRefused(client.call('PurgeQueue', { QueueUrl: url }), {
      code: simpleQueue('PurgeQueueInProgress'),
      status: 403,
      message: `Only one PurgeQueue operation on ${name} is allowed every 60 seconds.`,
    })
  })

  test('both can be switched off', async () => {
    const client = quick.client(kind)
    const { name, url } = await newQueue(client)
    for (const _time of [1, 2]) await client.call('PurgeQueue', { QueueUrl: url })
    await client.call('DeleteQueue', { QueueUrl: url })
    assert.equal((await newQueue(client, {}, name)).url, url)
  })
})

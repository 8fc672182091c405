/** A server that knows its callers: clients with the right key are served, others are told why not. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { awsCommand } from './aws-command.ts'
import { assertRefused, clientKinds, newQueue, receiveBodies, send } from './queue-scene.ts'
import { secretAccessKey } from './sqs-client.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-access-keys', {
  env: {
    MILLRACE_ACCESS_KEYS: `AKIATEST1:${secretAccessKey}:111111111111,AKIATEST2:quite-another-secret-key:222222222222`,
  },
})

describe.concurrent.each([...clientKinds, awsCommand])('access keys, with $name', (kind) => {
  test('a key of the server opens the queues of its account', async () => {
    const client = server.client(kind, { accessKeyId: 'AKIATEST1' })
    const queue = await newQueue(client)
    assert.equal(queue.url, `${server.url}/111111111111/${queue.name}`)
    const body = 'signed: ä+%20&= "quoted" /\\ 日本'
    await send(client, queue, body)
    assert.deepEqual(await receiveBodies(client, queue), [body])
  })

  test('an unknown key is refused', async () => {
    const client = server.client(kind, { accessKeyId: 'AKIAUNKNOWN' })
    const code = kind.protocol === 'json' ? 'UnrecognizedClientException' : 'InvalidClientTokenId'
    await assertRefused(client.call('ListQueues', {}), { code, status: 403 })
  })

  test('a key with another secret is refused', async () => {
    const client = server.client(kind, { accessKeyId: 'AKIATEST2' })
    const code = kind.protocol === 'json' ? 'InvalidSignatureException' : 'SignatureDoesNotMatch'
    await assertRefused(client.call('ListQueues', {}), { code, status: 403 })
  })
})

/** What a program catches: the class of the error in each client, and the code that all have in common. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { boto3 } from './boto3-client.ts'
import { newFifoQueue, newQueue, send, simpleQueue } from './queue-scene.ts'
import { jsonSdk, querySdk } from './sdk-clients.ts'
import { refusalOf, type SqsClient } from './sqs-client.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-errors', { cooldowns: true })

interface ErrorCase {
  readonly code: string
  readonly status?: number
  /** Clients have classes for most errors; the others go by their code. */
  readonly className?: string
  provoke(client: SqsClient): Promise<unknown>
}

const batch = (client: SqsClient, QueueUrl: string, ids: readonly string[], body = 'x') =>
  client.call('SendMessageBatch', {
    QueueUrl,
    Entries: ids.map((Id) => ({ Id, MessageBody: body })),
  })

const cases: readonly ErrorCase[] = [
  {
    code: simpleQueue('NonExistentQueue'),
    className: 'QueueDoesNotExist',
    provoke: (client) => client.call('GetQueueUrl', { QueueName: 'missing' }),
  },
  {
    code: 'QueueAlreadyExists',
    className: 'QueueNameExists',
    async provoke(client) {
      const { name } = await newQueue(client)
      await newQueue(client, { DelaySeconds: '5' }, name)
    },
  },
  {
    code: simpleQueue('QueueDeletedRecently'),
    className: 'QueueDeletedRecently',
    async provoke(client) {
      const { name, url } = await newQueue(client)
      await client.call('DeleteQueue', { QueueUrl: url })
      await newQueue(client, {}, name)
    },
  },
  {
    code: simpleQueue('PurgeQueueInProgress'),
    status: 403,
    className: 'PurgeQueueInProgress',
    async provoke(client) {
      const { url: QueueUrl } = await newQueue(client)
      await client.call('PurgeQueue', { QueueUrl })
      await client.call('PurgeQueue', { QueueUrl })
    },
  },
  {
    code: 'ResourceNotFoundException',
    status: 404,
    className: 'ResourceNotFoundException',
    provoke: (client) =>
      client.call('ListMessageMoveTasks', { SourceArn: 'arn:aws:sqs:us-east-1:000000000000:none' }),
  },
  {
    code: simpleQueue('EmptyBatchRequest'),
    className: 'EmptyBatchRequest',
    provoke: async (client) => batch(client, (await newQueue(client)).url, []),
  },
  {
    code: simpleQueue('TooManyEntriesInBatchRequest'),
    className: 'TooManyEntriesInBatchRequest',
    provoke: async (client) => batch(client, (await newQueue(client)).url, [...'abcdefghijk']),
  },
  {
    code: simpleQueue('BatchEntryIdsNotDistinct'),
    className: 'BatchEntryIdsNotDistinct',
    provoke: async (client) => batch(client, (await newQueue(client)).url, ['a', 'a']),
  },
  {
    code: simpleQueue('InvalidBatchEntryId'),
    className: 'InvalidBatchEntryId',
    provoke: async (client) => batch(client, (await newQueue(client)).url, ['a.b']),
  },
  {
    code: simpleQueue('BatchRequestTooLong'),
    className: 'BatchRequestTooLong',
    provoke: async (client) =>
      batch(client, (await newQueue(client)).url, ['a', 'b'], 'x'.repeat(600_000)),
  },
  {
    code: 'InvalidParameterValue',
    provoke: (client) => newQueue(client, {}, 'a b'),
  },
  {
    code: 'MissingParameter',
    provoke: async (client) => send(client, await newFifoQueue(client), 'no group'),
  },
  {
    code: 'InvalidAttributeName',
    className: 'InvalidAttributeName',
    provoke: (client) => newQueue(client, { Foobar: 'x' }),
  },
  {
    code: 'InvalidAttributeValue',
    provoke: (client) => newQueue(client, { DelaySeconds: '901' }),
  },
  {
    code: 'InvalidMessageContents',
    className: 'InvalidMessageContents',
    provoke: async (client) => send(client, await newQueue(client), '\uFFFF'),
  },
  {
    code: 'ReceiptHandleIsInvalid',
    className: 'ReceiptHandleIsInvalid',
    provoke: async (client) => {
      const { url: QueueUrl } = await newQueue(client)
      await client.call('DeleteMessage', { QueueUrl, ReceiptHandle: 'garbage' })
    },
  },
]

describe.concurrent.each([jsonSdk, querySdk, boto3])('errors, with $name', (kind) => {
  test.each(cases)('$code', async ({ code, status = 400, className, provoke }) => {
    const refusal = await refusalOf(provoke(server.client(kind)))
    assert.equal(refusal.code, code)
    assert.equal(refusal.status, status)
    const nameless = kind === boto3 ? 'ClientError' : code
    assert.equal(refusal.kind, className ?? nameless)
  })
})

/** Where a Lambda function sends messages, the SDK tells the trace by a header of the request. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test, vi } from 'vitest'
import { newQueue, receive, send, systemAttributes } from './queue-scene.ts'
import { jsonSdk, querySdk } from './sdk-clients.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-traces')

const ofFunction = 'Root=1-3152b799-8954dae64eda91bc9a23a7e8;Parent=7fa8c0f79203be72;Sampled=1'
const ofMessage = 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1'

describe.each([jsonSdk, querySdk])('the trace of a function, with $name', (kind) => {
  beforeEach(() => {
    vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'sender')
    vi.stubEnv('_X_AMZN_TRACE_ID', ofFunction)
  })
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  test('goes with its messages, unless they have one of their own', async () => {
    const client = server.client(kind)
    const queue = await newQueue(client)
    await send(client, queue, 'plain')
    const AWSTraceHeader = { DataType: 'String', StringValue: ofMessage }
    await send(client, queue, 'traced', { MessageSystemAttributes: { AWSTraceHeader } })
    const Entries = [{ Id: 'a', MessageBody: 'in a batch' }]
    await client.call('SendMessageBatch', { QueueUrl: queue.url, Entries })
    const messages = await receive(client, queue, systemAttributes(client, ['AWSTraceHeader']))
    assert.deepEqual(
      messages.map(({ Body, Attributes }) => [Body, Attributes?.AWSTraceHeader]),
      [
        ['plain', ofFunction],
        ['traced', ofMessage],
        ['in a batch', ofFunction],
      ],
    )
  })
})

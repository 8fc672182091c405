/** URLs that boto3 has signed, opened by a program that knows nothing of AWS. */
import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type Boto3Client, openBoto3 } from './boto3-client.ts'
import { freshName, newQueue, receiveBodies } from './queue-scene.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-presigned')

describe('a presigned URL', () => {
  let client: Boto3Client

  beforeAll(() => {
    client = openBoto3({ endpoint: server.url, region: 'eu-west-3' })
  })
  afterAll(() => client.close())

  const accept = { headers: { accept: 'application/json' } }

  test('lists queues of the region it was signed for, as XML', async () => {
    const { url } = await newQueue(client)
    const response = await fetch(await client.presign('ListQueues', {}))
    assert.equal(response.status, 200)
    assert.match(response.headers.get('content-type') ?? '', /^text\/xml/)
    const text = await response.text()
    assert.match(text, /^(?:<\?xml[^>]*>\s*)?<ListQueuesResponse /)
    assert.ok(text.includes(`<QueueUrl>${url}</QueueUrl>`))
  })

  test('answers JSON to those who accept it', async () => {
    const QueueName = freshName()
    const { url } = await newQueue(client, {}, QueueName)
    assert.ok(url.endsWith(`/000000000000/${QueueName}`), url)
    const signed = await client.presign('ListQueues', { QueueNamePrefix: QueueName })
    const response = await fetch(signed, accept)
    const document = JSON.parse(await response.text())
    assert.deepEqual(document.ListQueuesResponse.ListQueuesResult.queueUrls, [url])
  })

  test('sends and receives with everything that a body may contain', async () => {
    const queue = await newQueue(client)
    const body = '{"foo": "ba\rr", "foo2": "ba&quot;r&quot;"} ä+%20&='
    const sent = await fetch(
      await client.presign('SendMessage', { QueueUrl: queue.url, MessageBody: body }),
    )
    assert.equal(sent.status, 200)
    const asked = { QueueUrl: queue.url, VisibilityTimeout: 0 }
    const response = await fetch(await client.presign('ReceiveMessage', asked), accept)
    const { ReceiveMessageResponse } = JSON.parse(await response.text())
    assert.equal(ReceiveMessageResponse.ReceiveMessageResult.messages[0].Body, body)
    assert.deepEqual(await receiveBodies(client, queue), [body])
  })

  test('shows attributes as a list in JSON', async () => {
    const queue = await newQueue(client)
    const input = { QueueUrl: queue.url, AttributeNames: ['All' as const] }
    const response = await fetch(await client.presign('GetQueueAttributes', input), accept)
    const { GetQueueAttributesResponse } = JSON.parse(await response.text())
    const attributes = GetQueueAttributesResponse.GetQueueAttributesResult.Attributes
    const found = attributes.find(({ Name }: { Name: string }) => Name === 'QueueArn')
    assert.equal(found.Value, queue.arn.replace('us-east-1', 'eu-west-3'))
  })

  test('shows refusals in the form that was asked for', async () => {
    const input = { QueueUrl: `${server.url}/000000000000/missing` }
    const signed = await client.presign('GetQueueAttributes', input)
    const asJson = await fetch(signed, accept)
    assert.equal(asJson.status, 400)
    const { Error: error } = JSON.parse(await asJson.text())
    assert.equal(error.Code, 'AWS.SimpleQueueService.NonExistentQueue')
    const asXml = await (await fetch(signed)).text()
    assert.match(asXml, /<Code>AWS\.SimpleQueueService\.NonExistentQueue<\/Code>/)
    assert.match(asXml, /<Message>The specified queue does not exist for this wsdl version\./)
  })
})

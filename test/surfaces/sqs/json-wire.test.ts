/** The JSON protocol as it stands on the wire. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, test } from 'vitest'
import { type JsonAnswer, jsonType, rawWire } from './raw-wire.ts'

const wire = rawWire()
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function assertFailed(answer: JsonAnswer, type: string, message?: string | RegExp): void {
  assert.equal(answer.body.__type, type, answer.text)
  assert.equal(answer.headers.get('content-type'), jsonType)
  assert.match(answer.headers.get('x-amzn-requestid') ?? '', uuid)
  if (typeof message === 'string') assert.equal(answer.body.message, message)
  else if (message !== undefined) assert.match(answer.body.message, message)
}

describe('a JSON answer', () => {
  test('has the content type of AWS and a request id', async () => {
    const url = await wire.create('answered')
    assert.equal(url, `${wire.url}/000000000000/answered`)
    const { status, headers, text } = await wire.json('GetQueueUrl', { QueueName: 'answered' })
    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), jsonType)
    assert.match(headers.get('x-amzn-requestid') ?? '', uuid)
    assert.equal(headers.get('content-length'), String(Buffer.byteLength(text)))
    assert.equal(text, JSON.stringify({ QueueUrl: url }))
  })

  test('is an empty object when there is nothing to say', async () => {
    const QueueUrl = await wire.create('silent')
    assert.equal((await wire.json('TagQueue', { QueueUrl, Tags: { a: 'b' } })).text, '{}')
    assert.equal((await wire.json('PurgeQueue', { QueueUrl })).text, '{}')
  })

  test('leaves out empty lists and maps: Messages, Tags, QueueUrls', async () => {
    const QueueUrl = await wire.create('bare')
    assert.equal((await wire.json('ReceiveMessage', { QueueUrl })).text, '{}')
    assert.equal((await wire.json('ListQueueTags', { QueueUrl })).text, '{}')
    assert.equal((await wire.json('ListQueues', { QueueNamePrefix: 'nobody' })).text, '{}')
    assert.equal((await wire.json('ListDeadLetterSourceQueues', { QueueUrl })).text, '{}')
  })

  test('keeps any text as it is', async () => {
    const QueueUrl = await wire.create('letters')
    const MessageBody = '"quoted" \\ \n\t & <x/> grüße \u{1f600} \u2028'
    await wire.json('SendMessage', { QueueUrl, MessageBody })
    const { body } = await wire.json('ReceiveMessage', { QueueUrl })
    assert.equal(body.Messages[0].Body, MessageBody)
  })
})

describe('a JSON request', () => {
  test('may go to the path of the queue, and QueueUrl wins over it', async () => {
    await wire.create('by-path')
    await wire.create('by-url')
    const headers = { 'content-type': jsonType, 'x-amz-target': 'AmazonSQS.ListQueueTags' }
    const tag = (name: string) =>
      wire.json('TagQueue', { QueueUrl: name, Tags: { name } }).then(({ status }) => status)
    assert.deepEqual([await tag('by-path'), await tag('by-url')], [200, 200])
    const ask = (body: string) =>
      wire.fetch('/000000000000/by-path', { method: 'POST', headers, body })
    assert.equal((await ask('{}')).text, '{"Tags":{"name":"by-path"}}')
    assert.equal((await ask('')).text, '{"Tags":{"name":"by-path"}}')
    assert.equal((await ask('{"QueueUrl":"by-url"}')).text, '{"Tags":{"name":"by-url"}}')
  })

  test('may hold members that nobody knows, and null for those that are not there', async () => {
    const input = '{"QueueName":"tolerant","Attributes":null,"tags":{"a":null},"New":[{"x":1}]}'
    const { status, body } = await wire.json('CreateQueue', input)
    assert.equal(status, 200)
    assert.deepEqual((await wire.json('ListQueueTags', { QueueUrl: body.QueueUrl })).body, {})
  })

  test('may come in chunks', async () => {
    const answer = await wire.fetch('/', {
      method: 'POST',
      headers: { 'content-type': jsonType, 'x-amz-target': 'AmazonSQS.ListQueues' },
      body: new ReadableStream({
        start(controller) {
          for (const part of ['{"Queue', 'NamePrefix":"', 'nobody"}']) {
            controller.enqueue(new TextEncoder().encode(part))
          }
          controller.close()
        },
      }),
      duplex: 'half',
    })
    assert.deepEqual([answer.status, answer.text], [200, '{}'])
  })

  test('may wait to be told to go on before it sends its body', async () => {
    const body = '{"QueueNamePrefix":"nobody"}'
    const head = [
      'POST / HTTP/1.1',
      'Host: localhost',
      `Content-Type: ${jsonType}`,
      'X-Amz-Target: AmazonSQS.ListQueues',
      `Content-Length: ${body.length}`,
      'Expect: 100-continue',
      'Connection: close',
    ]
    const socket = connect({ port: wire.server.port, host: '127.0.0.1' })
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    let heard = ''
    for await (const chunk of socket) {
      heard += chunk
      if (heard === 'HTTP/1.1 100 Continue\r\n\r\n') socket.write(body)
    }
    assert.match(heard, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/)
    assert.match(heard, /\r\n\r\n\{\}$/)
  })
})

describe('a JSON failure', () => {
  test('names the error with its namespace, and the code of the Query protocol', async () => {
    const answer = await wire.json('GetQueueUrl', { QueueName: 'missing' })
    assert.equal(answer.status, 400)
    const message = 'The specified queue does not exist.'
    assertFailed(answer, 'com.amazonaws.sqs#QueueDoesNotExist', message)
    assert.equal(
      answer.headers.get('x-amzn-query-error'),
      'AWS.SimpleQueueService.NonExistentQueue;Sender',
    )
  })

  test.each(['', 'AmazonSQS.', 'AmazonSQS.Foo', 'AmazonSQS.toString', 'DynamoDB_20120810.GetItem'])(
    'is UnknownOperationException for the target %j',
    async (target) => {
      const headers = target === '' ? {} : { 'x-amz-target': target }
      const init = { method: 'POST', headers: { 'content-type': jsonType, ...headers }, body: '{}' }
      const { text, ...answer } = await wire.fetch('/', init)
      assert.equal(answer.status, 400)
      const type = 'com.amazon.coral.service#UnknownOperationException'
      assertFailed({ ...answer, text, body: JSON.parse(text) }, type)
    },
  )

  test('is UnknownOperationException for any method but POST', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
      const headers = { 'x-amz-target': 'AmazonSQS.ListQueues' }
      const { status, text } = await wire.fetch('/', { method, headers })
      assert.equal(status, 400, method)
      assert.match(text, /UnknownOperationException/)
    }
    const headers = { 'x-amz-target': 'AmazonSQS.ListQueues' }
    const head = await wire.fetch('/', { method: 'HEAD', headers })
    assert.deepEqual([head.status, head.text], [400, ''])
  })

  test.each(['{', '{"a":}', 'null', '[]', '"text"', '5', '{"QueueName":"a"} more', '\u0000'])(
    'is SerializationException for a body of %j',
    async (body) => {
      const answer = await wire.json('CreateQueue', body)
      assert.equal(answer.status, 400)
      assertFailed(answer, 'com.amazon.coral.service#SerializationException')
    },
  )

  test('is SerializationException for bytes that are not UTF-8', async () => {
    const { status, text } = await wire.fetch('/', {
      method: 'POST',
      headers: { 'content-type': jsonType, 'x-amz-target': 'AmazonSQS.CreateQueue' },
      body: Buffer.from('{"QueueName":"\xff"}', 'latin1'),
    })
    assert.equal(status, 400)
    assert.match(text, /SerializationException/)
  })

  test.each([
    ['ListQueues', { MaxResults: '5' }, 'STRING_VALUE can not be converted to an Integer'],
    ['ListQueues', { MaxResults: 1.5 }, 'NUMBER_VALUE can not be converted to an Integer'],
    ['ListQueues', { MaxResults: true }, 'TRUE_VALUE can not be converted to an Integer'],
    ['ListQueues', '{"MaxResults":1e999}', 'NUMBER_VALUE can not be converted to an Integer'],
    ['ListQueues', { QueueNamePrefix: 5 }, 'NUMBER_VALUE can not be converted to a String'],
    ['ListQueues', { QueueNamePrefix: [] }, 'Start of list found where not expected'],
    [
      'CreateQueue',
      { QueueName: 'a', Attributes: { DelaySeconds: {} } },
      'Start of structure or map found where not expected.',
    ],
    ['CreateQueue', { QueueName: 'a', Attributes: [] }, 'Start of list found where not expected'],
    ['UntagQueue', { QueueUrl: 'a', TagKeys: 'b' }, 'STRING_VALUE can not be converted to a list'],
    [
      'SendMessage',
      {
        QueueUrl: 'a',
        MessageBody: 'x',
        MessageAttributes: { a: { DataType: 'Binary', BinaryValue: 'not base64!' } },
      },
      'A Blob is not valid base64.',
    ],
  ])(
    'is SerializationException for types that do not fit: %s %j',
    async (action, input, message) => {
      const answer = await wire.json(action, input)
      assert.equal(answer.status, 400)
      assertFailed(answer, 'com.amazon.coral.service#SerializationException', message)
    },
  )

  test('is SerializationException for a body that is encoded', async () => {
    const answer = await wire.json('ListQueues', {}, { 'content-encoding': 'gzip' })
    assert.equal(answer.status, 400)
    assertFailed(answer, 'com.amazon.coral.service#SerializationException', /Content-Encoding/)
  })

  test('is 413 for a body that is larger than any batch', async () => {
    const answer = await wire.json('SendMessage', 'x'.repeat(8 * 2 ** 20 + 1))
    assert.equal(answer.status, 413)
    assertFailed(answer, 'com.amazon.coral.service#RequestEntityTooLargeException')
  })

  test('is 413 for a body that does not say how long it is, and such a body ends some time', async () => {
    const socket = connect({ port: wire.server.port, host: '127.0.0.1' })
    socket.on('error', () => undefined)
    const head = ['POST / HTTP/1.1', 'Host: localhost', 'X-Amz-Target: AmazonSQS.SendMessage']
    socket.write(`${[...head, 'Transfer-Encoding: chunked'].join('\r\n')}\r\n\r\n`)
    const chunk = `100000\r\n${'x'.repeat(2 ** 20)}\r\n`
    const sendOn = (): void => {
      if (!socket.destroyed) socket.write(chunk, sendOn)
    }
    sendOn()
    const [heard] = await once(socket, 'data')
    assert.match(String(heard), /^HTTP\/1\.1 413 /)
    const closed = new Promise((resolve) => socket.once('close', resolve))
    await wire.clock.advance(10_000)
    await closed
  })

  test('says that the queue is missing from the request', async () => {
    for (const input of [{}, { QueueUrl: '' }, { QueueUrl: null }]) {
      assertFailed(
        await wire.json('GetQueueAttributes', input),
        'com.amazonaws.sqs#MissingRequiredParameterException',
        'The request must contain the parameter QueueUrl.',
      )
    }
  })

  test.each([
    'http://localhost/not/a/queue',
    'http://localhost/000000000000/',
    'http://localhost/000000000000',
    'http://localhost/queue/eu-west-1/000000000000/',
    'http://localhost:4566',
    'http://sqs.eu-west-1.amazonaws.com/000000000000/missing',
    'http://localhost/queue/eu-west-1/000000000000/missing',
    'http://localhost/000000000000/missing',
    '/000000000000/',
    'missing',
    'no name at all',
  ])('says that there is no queue at %s', async (QueueUrl) => {
    const answer = await wire.json('GetQueueAttributes', { QueueUrl })
    assert.equal(answer.status, 400)
    assertFailed(
      answer,
      'com.amazonaws.sqs#QueueDoesNotExist',
      'The specified queue does not exist.',
    )
    const query = await wire.query({ Action: 'SendMessage', QueueUrl, MessageBody: 'x' })
    assert.equal(query.status, 400)
    assert.match(query.text, /<Code>AWS.SimpleQueueService.NonExistentQueue<\/Code>/)
  })
})

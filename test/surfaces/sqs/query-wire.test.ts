/** The Query protocol as it stands on the wire, by POST and by GET. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type RawAnswer, rawWire } from './raw-wire.ts'

const wire = rawWire()
const namespace = 'xmlns="http://queue.amazonaws.com/doc/2012-11-05/"'
const id = /<RequestId>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}<\/RequestId>/

/** The document without what differs in every answer. */
function documentOf({ text, headers }: RawAnswer): string {
  assert.match(text, id)
  assert.ok(text.includes(`<RequestId>${headers.get('x-amzn-requestid')}</RequestId>`), text)
  assert.equal(headers.get('content-type'), 'text/xml')
  return text.replace(id, '<RequestId/>').replace('<?xml version="1.0"?>', '')
}

function response(action: string, result: string): string {
  const metadata = '<ResponseMetadata><RequestId/></ResponseMetadata>'
  return `<${action}Response ${namespace}>${result}${metadata}</${action}Response>`
}

function assertFailed(answer: RawAnswer, code: string, message: string | RegExp): void {
  const document = documentOf(answer)
  const [, type, found, text] =
    /<Error><Type>(\w+)<\/Type><Code>([\w.]+)<\/Code><Message>(.*)<\/Message><Detail\/><\/Error><RequestId\/>/.exec(
      document,
    ) ?? []
  assert.ok(document.startsWith(`<ErrorResponse ${namespace}>`), document)
  assert.deepEqual([type, found], ['Sender', code])
  if (typeof message === 'string') assert.equal(text, message)
  else assert.match(text ?? '', message)
}

describe('a Query answer', () => {
  test('is XML with a result and the request id', async () => {
    const answer = await wire.query({ Action: 'CreateQueue', QueueName: 'answered' })
    assert.equal(answer.status, 200)
    const url = `${wire.url}/000000000000/answered`
    const result = `<CreateQueueResult><QueueUrl>${url}</QueueUrl></CreateQueueResult>`
    assert.equal(documentOf(answer), response('CreateQueue', result))
  })

  test('has no result element for an action that has none to give', async () => {
    await wire.create('silent')
    const parameters = {
      Action: 'TagQueue',
      QueueUrl: 'silent',
      'Tag.1.Key': 'a',
      'Tag.1.Value': '',
    }
    assert.equal(documentOf(await wire.query(parameters)), response('TagQueue', ''))
    const listed = await wire.query({ Action: 'ListQueueTags', QueueUrl: 'silent' })
    const tag = '<Tag><Key>a</Key><Value/></Tag>'
    const result = `<ListQueueTagsResult>${tag}</ListQueueTagsResult>`
    assert.equal(documentOf(listed), response('ListQueueTags', result))
  })

  test('has an empty result when a receive finds nothing', async () => {
    await wire.create('empty')
    const answer = await wire.query({ Action: 'ReceiveMessage', QueueUrl: 'empty' })
    assert.equal(documentOf(answer), response('ReceiveMessage', '<ReceiveMessageResult/>'))
  })

  test('keeps texts that XML would change', async () => {
    const QueueUrl = await wire.create('letters')
    const MessageBody = "\"&quot;&quot;\r\n\t <x> 'y' ]]> grüße \u{1f600}"
    await wire.query({ Action: 'SendMessage', QueueUrl, MessageBody })
    const { text } = await wire.query({ Action: 'ReceiveMessage', QueueUrl })
    const escaped =
      '&quot;&amp;quot;&amp;quot;&#xD;\n\t &lt;x&gt; &apos;y&apos; ]]&gt; grüße \u{1f600}'
    assert.ok(text.includes(`<Body>${escaped}</Body>`), text)
  })
})

describe('a Query request', () => {
  test('comes as a form or in the address, to the root or to the path of the queue', async () => {
    const QueueUrl = await wire.create('asked')
    const Action = 'GetQueueAttributes'
    const one = { 'AttributeName.1': 'QueueArn' }
    const value = '<Value>arn:aws:sqs:us-east-1:000000000000:asked</Value>'
    const attribute = `<Attribute><Name>QueueArn</Name>${value}</Attribute>`
    const result = `<GetQueueAttributesResult>${attribute}</GetQueueAttributesResult>`
    const path = '/000000000000/asked'
    for (const answer of [
      await wire.query({ Action, QueueUrl, ...one }),
      await wire.query({ Action, QueueUrl, ...one }, { method: 'GET' }),
      await wire.query({ Action, ...one }, { path }),
      await wire.query({ Action, ...one }, { path, method: 'GET' }),
      await wire.query({ Action, ...one }, { path: '/queue/us-east-1/000000000000/asked' }),
      await wire.query({ ...one }, { path: `${path}?Action=${Action}` }),
    ]) {
      assert.equal(documentOf(answer), response(Action, result))
    }
  })

  test('means the queue of its parameter rather than that of its path', async () => {
    await wire.create('of-path')
    const QueueUrl = await wire.create('of-parameter')
    const parameters = { Action: 'GetQueueAttributes', QueueUrl, 'AttributeName.1': 'QueueArn' }
    const { text } = await wire.query(parameters, { path: '/000000000000/of-path', method: 'GET' })
    assert.match(text, /:of-parameter</)
  })

  test('numbers what there is several of, in any order and from anywhere', async () => {
    const parameters = {
      Action: 'CreateQueue',
      QueueName: 'numbered',
      'Attribute.7.Value': '7',
      'Attribute.7.Name': 'DelaySeconds',
      'Attribute.3.Name': 'VisibilityTimeout',
      'Attribute.3.Value': '3',
    }
    await wire.query(parameters)
    const AttributeNames = ['DelaySeconds', 'VisibilityTimeout']
    const { body } = await wire.json('GetQueueAttributes', { QueueUrl: 'numbered', AttributeNames })
    assert.deepEqual(body.Attributes, { DelaySeconds: '7', VisibilityTimeout: '3' })
  })

  test('may leave out the number of a single one', async () => {
    const QueueUrl = await wire.create('single')
    const change = { 'Attribute.Name': 'DelaySeconds', 'Attribute.Value': '5' }
    await wire.query({ Action: 'SetQueueAttributes', QueueUrl, ...change })
    const asked = { Action: 'GetQueueAttributes', QueueUrl, AttributeName: 'DelaySeconds' }
    assert.match((await wire.query(asked)).text, /<Name>DelaySeconds<\/Name><Value>5<\/Value>/)
  })

  test('may repeat a parameter, of which the first counts, and hold others that nobody knows', async () => {
    const body =
      'Action=CreateQueue&QueueName=first&QueueName=second&Nobody.Knows.1=x&&=y&Version=1'
    const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
    const { text } = await wire.fetch('/', { method: 'POST', headers, body })
    assert.match(text, /\/first<\/QueueUrl>/)
  })
})

describe('a Query failure', () => {
  test('has its own words for a queue that does not exist', async () => {
    const answer = await wire.query({ Action: 'GetQueueUrl', QueueName: 'missing' })
    assert.equal(answer.status, 400)
    const code = 'AWS.SimpleQueueService.NonExistentQueue'
    assertFailed(answer, code, 'The specified queue does not exist for this wsdl version.')
  })

  test.each([
    '/000000000000/',
    '/000000000000',
    '/queue/eu-west-1/000000000000/',
    '/000000000000/no/such/path',
    '/queue/us-east-1/000000000000',
    '/queue',
    '/a/b/c/d',
    '/orders',
  ])('is NonExistentQueue on the path %s, which names no queue', async (path) => {
    for (const method of ['GET', 'POST']) {
      const call = { Action: 'SendMessage', MessageBody: 'x' }
      const answer = await wire.query(call, { method, path })
      assert.equal(answer.status, 400)
      const code = 'AWS.SimpleQueueService.NonExistentQueue'
      assertFailed(answer, code, 'The specified queue does not exist for this wsdl version.')
    }
  })

  test('is 404 UnknownOperationException without an action, in XML even with Accept JSON', async () => {
    await wire.create('pathless')
    const path = '/000000000000/pathless'
    for (const answer of [
      await wire.fetch(path),
      await wire.fetch(path, { headers: { accept: 'application/json' } }),
      await wire.fetch('/', { method: 'POST' }),
      await wire.fetch(path, { method: 'PUT', body: 'Action=ListQueues' }),
      await wire.fetch(`${path}?Action=DeleteQueue`, { method: 'DELETE' }),
      await wire.fetch(path, { method: 'OPTIONS' }),
      await wire.fetch(path, { method: 'POST', body: '{"Action":"ListQueues"}' }),
    ]) {
      assert.deepEqual([answer.status, answer.text], [404, '<UnknownOperationException/>'])
      assert.equal(answer.headers.get('content-type'), 'text/xml')
      assert.ok(answer.headers.get('x-amzn-requestid'))
    }
  })

  test('is InvalidAction for an action that does not exist', async () => {
    for (const Action of ['FooBar', 'toString', '']) {
      const answer = await wire.query({ Action })
      assert.equal(answer.status, 400)
      const message = `The action ${Action} is not valid for this endpoint.`
      assertFailed(answer, 'InvalidAction', message)
    }
  })

  test('is InvalidAction for CreateQueue and ListQueues on the path of a queue', async () => {
    await wire.create('host')
    for (const Action of ['CreateQueue', 'ListQueues']) {
      const parameters = { Action, QueueName: 'other' }
      const answer = await wire.query(parameters, { path: '/000000000000/host', method: 'GET' })
      assert.equal(answer.status, 400)
      const message = `The action ${Action} is not valid for this endpoint.`
      assertFailed(answer, 'InvalidAction', message)
    }
    const found = { Action: 'GetQueueUrl', QueueName: 'host' }
    const { status } = await wire.query(found, { path: '/000000000000/another', method: 'GET' })
    assert.equal(status, 200)
  })

  test('names what is missing', async () => {
    await wire.create('wanting')
    const path = '/000000000000/wanting'
    const answer = await wire.query({ Action: 'SendMessage' }, { path, method: 'GET' })
    assert.equal(answer.status, 400)
    assertFailed(answer, 'MissingParameter', 'The request must contain the parameter MessageBody.')
    const nameless = { Action: 'SetQueueAttributes', 'Attribute.1.Value': '5' }
    const missing = 'The request must contain the parameter Attribute.Name.'
    assertFailed(await wire.query(nameless, { path }), 'MissingParameter', missing)
  })

  test('is MalformedInput for numbers and bytes that are none', async () => {
    const QueueUrl = await wire.create('typed')
    for (const MaxNumberOfMessages of ['x', '', '1.5', '1e1', ' 1', '9'.repeat(30)]) {
      const answer = await wire.query({ Action: 'ReceiveMessage', QueueUrl, MaxNumberOfMessages })
      assert.equal(answer.status, 400)
      assertFailed(
        answer,
        'MalformedInput',
        'The parameter MaxNumberOfMessages must be an integer.',
      )
    }
    const attribute = {
      'MessageAttribute.1.Name': 'a',
      'MessageAttribute.1.Value.DataType': 'Binary',
      'MessageAttribute.1.Value.BinaryValue': '*',
    }
    const send = { Action: 'SendMessage', QueueUrl, MessageBody: 'x', ...attribute }
    assertFailed(await wire.query(send), 'MalformedInput', /BinaryValue must be base64/)
  })

  test.each(['Action=ListQueues&QueueNamePrefix=%', 'Action=ListQueues&a=%C3%28', 'Action=%ZZ'])(
    'is MalformedInput for %s',
    async (query) => {
      assertFailed(await wire.fetch(`/?${query}`), 'MalformedInput', /percent-encoded UTF-8/)
    },
  )

  test('is MalformedInput for more parameters than any request needs', async () => {
    const body = `Action=ListQueues${'&a=b'.repeat(2_000)}`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const answer = await wire.fetch('/', { method: 'POST', headers, body })
    assertFailed(answer, 'MalformedInput', /parameters/)
  })

  test('cannot be made to speak XML of its own', async () => {
    const Action = '</Message><Evil/>'
    const answer = await wire.query({ Action })
    const message = 'The action &lt;/Message&gt;&lt;Evil/&gt; is not valid for this endpoint.'
    assertFailed(answer, 'InvalidAction', message)
  })
})

describe('a Query answer for Accept: application/json', () => {
  const headers = { accept: 'application/json, text/plain, */*' }
  const ask = async (parameters: Readonly<Record<string, string>>, path = '/') => {
    const answer = await wire.query(parameters, { method: 'GET', headers, path })
    assert.equal(answer.headers.get('content-type'), 'application/json')
    return { status: answer.status, body: JSON.parse(answer.text) }
  }

  test('is JSON with the names of the XML', async () => {
    const QueueUrl = await wire.create('jsonic')
    const { body: listed } = await ask({ Action: 'ListQueues', QueueNamePrefix: 'jsonic' })
    const { ListQueuesResult, ResponseMetadata } = listed.ListQueuesResponse
    assert.deepEqual(ListQueuesResult, { queueUrls: [QueueUrl], NextToken: null })
    assert.match(ResponseMetadata.RequestId, /^[0-9a-f-]{36}$/)
    const attributes = { Action: 'GetQueueAttributes', 'AttributeName.1': 'DelaySeconds' }
    const { body } = await ask(attributes, '/000000000000/jsonic')
    assert.deepEqual(body.GetQueueAttributesResponse.GetQueueAttributesResult, {
      Attributes: [{ Name: 'DelaySeconds', Value: '0' }],
    })
  })

  test('has messages in a list, or null', async () => {
    const QueueUrl = await wire.create('jsonic-messages')
    const receive = async () => {
      const { body } = await ask({ Action: 'ReceiveMessage', QueueUrl })
      return body.ReceiveMessageResponse.ReceiveMessageResult.messages
    }
    assert.equal(await receive(), null)
    const sent = await ask({ Action: 'SendMessage', QueueUrl, MessageBody: 'hello' })
    const { MessageId, SequenceNumber } = sent.body.SendMessageResponse.SendMessageResult
    assert.equal(SequenceNumber, null)
    const [message] = await receive()
    assert.deepEqual([message.MessageId, message.Body], [MessageId, 'hello'])
  })

  test('has an Error with a code', async () => {
    await wire.create('jsonic-host')
    const { status, body } = await ask({ Action: 'ListQueues' }, '/000000000000/jsonic-host')
    assert.equal(status, 400)
    assert.deepEqual(body.Error, {
      Code: 'InvalidAction',
      Detail: null,
      Message: 'The action ListQueues is not valid for this endpoint.',
      Type: 'Sender',
    })
  })
})

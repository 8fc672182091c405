import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { actions } from '../../../src/surfaces/sqs-protocol/actions/index.ts'
import { readXml, textAt } from '../../support/read-xml.ts'
import { form, formType, fuzzScene, jsonCall, jsonText, type Nonsense } from './fuzz-scene.ts'
import { jsonType } from './raw-wire.ts'

describe('headers that make no sense', () => {
  test.each([
    '',
    ' ',
    'AmazonSQS',
    'AmazonSQS.',
    'AmazonSQS.sendmessage',
    'AmazonSQS.__proto__',
    'AmazonSQS.constructor',
    'AmazonSQS.SendMessage.SendMessage',
    'AmazonSQS.SendMessage, AmazonSQS.SendMessage',
    'DynamoDB_20120810.ListTables',
    '\u00ff\u00fe',
    'x'.repeat(200),
  ])('as the target %j name no action', async (target) => {
    const scene = await fuzzScene()
    const headers = { 'content-type': jsonType, 'x-amz-target': target }
    assert.equal(await scene.refusalOf({ headers, body: '{}' }), 'UnknownOperationException')
    await scene.assertStillServes()
  })

  test('are answered, whichever header it is', async () => {
    const scene = await fuzzScene()
    const values = [
      '',
      'x'.repeat(10_000),
      '\u00ff',
      '-1',
      '1e999',
      '[]',
      '{}',
      '%00',
      '../..',
      '"',
    ]
    const names = [
      'authorization',
      'x-amz-date',
      'x-amz-security-token',
      'x-amz-content-sha256',
      'x-amzn-trace-id',
      'accept',
      'user-agent',
      'x-forwarded-proto',
      'x-forwarded-for',
      'amz-sdk-request',
      'x-amz-api-version',
    ]
    for (const name of names) {
      for (const value of values) {
        const { headers, ...call } = jsonCall('SendMessage', {
          QueueUrl: scene.queueUrl,
          MessageBody: 'x',
        })
        await scene.tell({ ...call, headers: { ...headers, [name]: value } })
        const query = `Action=SendMessage&QueueUrl=${scene.queueUrl}&MessageBody=x`
        await scene.tell({ ...form(query), headers: { 'content-type': formType, [name]: value } })
      }
    }
    await scene.assertStillServes()
  })

  test.each(['gzip', 'br', 'aws-chunked', 'x', 'identity, gzip'])(
    'say that the body is encoded by %s, which is refused',
    async (encoding) => {
      const scene = await fuzzScene()
      const { headers, ...call } = jsonCall('ListQueues', {})
      await scene.refusalOf({ ...call, headers: { ...headers, 'content-encoding': encoding } })
      await scene.assertStillServes()
    },
  )

  test.each([undefined, 'text/plain', 'application/json', 'application/xml', '', ';;', formType])(
    'give JSON for the type %j, and it is read or refused',
    async (type) => {
      const scene = await fuzzScene()
      const target = { 'x-amz-target': 'AmazonSQS.ListQueues' }
      const typed = type === undefined ? {} : { 'content-type': type }
      await scene.tell({ headers: { ...target, ...typed }, body: '{}' })
      await scene.tell({ headers: typed, body: '{"Action":"ListQueues"}' })
      await scene.tell({ headers: typed, body: 'Action=ListQueues' })
      await scene.assertStillServes()
    },
  )

  test('cannot be used as any method', async () => {
    const scene = await fuzzScene()
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND']) {
      const call = { ...jsonCall('ListQueues', {}), method }
      assert.equal(await scene.refusalOf(call), 'UnknownOperationException', method)
      const query = { method, path: '/?Action=ListQueues' }
      assert.equal(await scene.refusalOf(query), 'UnknownOperationException', method)
    }
    await scene.assertStillServes()
  })
})

describe('names that mean something to JavaScript', () => {
  const names = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'then']

  test('are names like others in JSON', async () => {
    const scene = await fuzzScene()
    const { queueUrl } = scene
    for (const name of names) {
      const key = JSON.stringify(name)
      const texts: readonly [string, string][] = [
        ['ListQueues', `{${key}:{"QueueNamePrefix":"x"}}`],
        ['CreateQueue', `{"QueueName":"q","Attributes":{${key}:"1"}}`],
        ['SetQueueAttributes', `{"QueueUrl":"${queueUrl}","Attributes":{${key}:"1"}}`],
        ['GetQueueAttributes', `{"QueueUrl":"${queueUrl}","AttributeNames":[${key}]}`],
        [
          'ReceiveMessage',
          `{"QueueUrl":"${queueUrl}","AttributeNames":[${key}],"WaitTimeSeconds":0}`,
        ],
        [
          'AddPermission',
          `{"QueueUrl":"${queueUrl}","Label":${key},"AWSAccountIds":[${key}],"Actions":[${key}]}`,
        ],
        [
          'SendMessage',
          `{"QueueUrl":"${queueUrl}","MessageBody":"x","MessageSystemAttributes":{${key}:{"DataType":"String","StringValue":"x"}}}`,
        ],
        [
          'SendMessage',
          `{"QueueUrl":"${queueUrl}","MessageBody":"x","MessageAttributes":{"a":{"DataType":${key},"StringValue":"x"}}}`,
        ],
      ]
      for (const [action, text] of texts) await scene.tell(jsonText(action, text))
    }
    assert.equal(Reflect.get({}, 'QueueNamePrefix'), undefined)
    await scene.assertStillServes()
  })

  test('come back as they were given', async () => {
    const scene = await fuzzScene()
    const { queueUrl } = scene
    for (const name of names) {
      const tags = `{"QueueUrl":"${queueUrl}","Tags":{${JSON.stringify(name)}:"tagged"}}`
      assert.equal((await scene.tell(jsonText('TagQueue', tags))).status, 200)
    }
    const listed = await scene.tell(jsonCall('ListQueueTags', { QueueUrl: queueUrl }))
    const tags = new Map(Object.entries(JSON.parse(listed.text).Tags))
    assert.deepEqual([...tags.keys()].sort(), [...names].sort())
    for (const name of names) {
      const attribute = `{${JSON.stringify(name)}:{"DataType":"String","StringValue":"x"}}`
      const message = `{"QueueUrl":"${queueUrl}","MessageBody":"x","MessageAttributes":${attribute}}`
      assert.equal((await scene.tell(jsonText('SendMessage', message))).status, 200)
      const wanted = { QueueUrl: queueUrl, MessageAttributeNames: ['All'], WaitTimeSeconds: 0 }
      const received = await scene.tell(jsonCall('ReceiveMessage', wanted))
      const [{ MessageAttributes: attributes }] = JSON.parse(received.text).Messages
      assert.deepEqual(Object.keys(attributes), [name])
    }
  })

  test('are no actions in Query', async () => {
    const scene = await fuzzScene()
    for (const name of [...names, '', ' ', 'ListQueues ', 'listqueues', 'x'.repeat(10_000)]) {
      await scene.refusalOf(form(`Action=${name}`))
    }
    await scene.assertStillServes()
  })
})

describe('text that is no text', () => {
  test('in JSON is refused when it is no UTF-8', async () => {
    const scene = await fuzzScene()
    for (const bytes of [
      [0xff],
      [0xc0, 0x80],
      [0xed, 0xa0, 0x80],
      [0xf5, 0x80, 0x80, 0x80],
      [0xe4],
    ]) {
      const before = `{"QueueUrl":"${scene.queueUrl}","MessageBody":"`
      const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from('"}')])
      assert.equal(await scene.refusalOf(jsonText('SendMessage', body)), 'SerializationException')
      await scene.refusalOf(form(Buffer.concat([Buffer.from('Action='), Buffer.from(bytes)])))
    }
    await scene.assertStillServes()
  })

  test('with half a character is refused as a body, in both protocols', async () => {
    const scene = await fuzzScene()
    const call = (text: string): Nonsense =>
      jsonText('SendMessage', `{"QueueUrl":"${scene.queueUrl}","MessageBody":"${text}"}`)
    for (const half of ['\\ud800', 'a\\udc00b', '\\ud800\\ud800', '\\u0000', '\\ufffe']) {
      assert.equal(await scene.refusalOf(call(half)), 'InvalidMessageContents')
    }
    const query = (text: string): Nonsense =>
      form(`Action=SendMessage&QueueUrl=${scene.queueUrl}&MessageBody=${text}`)
    for (const broken of [
      '%',
      '%2',
      '%zz',
      '%FF',
      '%C0%80',
      '%ED%A0%80',
      '%u0041',
      '%00',
      '%EF%BF%BE',
    ]) {
      await scene.refusalOf(query(broken))
    }
    await scene.assertStillServes()
  })

  test('with half a character is answered in every other place', async () => {
    const scene = await fuzzScene()
    for (const [name, { input }] of actions) {
      for (const [member, { kind }] of input.entries) {
        const half =
          kind === 'list' ? ['\ud800'] : kind === 'map' ? { '\ud800': '\udc00' } : '\ud800'
        const value = { QueueUrl: scene.queueUrl, QueueName: 'nonsense', [member]: half }
        const isKept = name === 'DeleteQueue' && member !== 'QueueUrl'
        if (!isKept) await scene.tell(jsonCall(name, value))
      }
    }
    await scene.assertStillServes()
  })
})

describe('answers that repeat what was given', () => {
  test('stay XML, whatever it was', async () => {
    const scene = await fuzzScene()
    const tricks = [
      '<x>',
      '</Message></Error>',
      ']]>',
      '<![CDATA[',
      '<!DOCTYPE a [<!ENTITY b "c">]>',
      '&b;',
      '&#0;',
      '"\'',
      '<!--',
      '<?xml?>',
      '\u0001\u001f',
      '\ufffe',
    ]
    for (const trick of tricks) {
      const given = encodeURIComponent(trick)
      const { text } = await scene.tell(form(`Action=${given}`))
      const shown = textAt(readXml(text), 'Error', 'Message') ?? ''
      assert.match(shown, /is not valid for this endpoint/)
      for (const parameters of [
        `GetQueueUrl&QueueName=${given}`,
        `CreateQueue&QueueName=${given}`,
        `CreateQueue&QueueName=a&Attribute.1.Name=${given}&Attribute.1.Value=1`,
        `GetQueueAttributes&QueueUrl=${scene.queueUrl}&AttributeName.1=${given}`,
        `SendMessage&QueueUrl=${given}&MessageBody=x`,
        `DeleteMessage&QueueUrl=${scene.queueUrl}&ReceiptHandle=${given}`,
        `TagQueue&QueueUrl=${scene.queueUrl}&Tag.1.Key=${given}&Tag.1.Value=${given}`,
        `ListQueueTags&QueueUrl=${scene.queueUrl}`,
      ]) {
        await scene.tell(form(`Action=${parameters}`))
      }
    }
    await scene.assertStillServes()
  })
})

describe('parameters that come twice, or not at all', () => {
  test('count once in Query, the first of them', async () => {
    const scene = await fuzzScene()
    const answer = await scene.tell(form('Action=CreateQueue&QueueName=first&QueueName=second'))
    const url = textAt(readXml(answer.text), 'CreateQueueResult', 'QueueUrl')
    assert.equal(url, `${scene.url}/000000000000/first`)
  })

  test('are answered in any number and order', async () => {
    const scene = await fuzzScene()
    const queue = `QueueUrl=${scene.queueUrl}`
    for (const parameters of [
      'CreateQueue&QueueName=a&Attribute.1.Name=DelaySeconds',
      'CreateQueue&QueueName=a&Attribute.1.Value=5',
      'CreateQueue&QueueName=a&Attribute.-1.Name=a&Attribute.x.Value=5',
      'CreateQueue&QueueName=a&Attribute.99999999999999999999.Name=DelaySeconds',
      'CreateQueue&QueueName=a&Attribute=5&Attribute.1=5&Attribute.1.Name.1=x',
      `SendMessage&${queue}`,
      `SendMessage&${queue}&MessageBody=x&MessageAttribute.1.Name=a`,
      `SendMessage&${queue}&MessageBody=x&MessageAttribute.1.Value.DataType=String`,
      `SendMessage&${queue}&MessageBody=x&MessageAttribute.1.Name=a&MessageAttribute.1.Value=b`,
      `SendMessageBatch&${queue}`,
      `SendMessageBatch&${queue}&SendMessageBatchRequestEntry.1`,
      `SendMessageBatch&${queue}&SendMessageBatchRequestEntry.5.MessageBody=x`,
      `DeleteMessageBatch&${queue}&DeleteMessageBatchRequestEntry.1.Id=a`,
      'SendMessage&QueueUrl=&MessageBody=x',
      'GetQueueUrl',
      'StartMessageMoveTask',
    ]) {
      await scene.tell(form(`Action=${parameters}`))
      await scene.tell({ method: 'GET', path: `/?Action=${parameters}` })
    }
    await scene.assertStillServes()
  })

  test('are answered in JSON, the last of them counting', async () => {
    const scene = await fuzzScene()
    const text = '{"QueueName":1,"QueueName":"last","QueueName":"last"}'
    const answer = await scene.tell(jsonText('CreateQueue', text))
    assert.equal(JSON.parse(answer.text).QueueUrl, `${scene.url}/000000000000/last`)
    for (const name of actions.keys()) await scene.tell(jsonText(name, '{}'))
    for (const name of actions.keys()) await scene.tell(jsonText(name, ''))
    await scene.assertStillServes()
  })
})

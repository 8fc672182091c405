/** Attributes that senders give to messages, and those that the queue gives. */
import assert from 'node:assert/strict'
import type { MessageAttributeValue } from '@aws-sdk/client-sqs'
import { describe, test } from 'vitest'
import {
  assertRefused,
  clientKinds,
  newFifoQueue,
  newQueue,
  receiveOne,
  send,
  systemAttributes,
} from './queue-scene.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-message-attributes')

const text = (StringValue: string, DataType = 'String'): MessageAttributeValue => ({
  DataType,
  StringValue,
})
const trace = 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1'

describe.concurrent.each(clientKinds)('message attributes, with $name', (kind) => {
  const open = () => server.client(kind)

  test('all types come back as they were', async () => {
    const client = open()
    const queue = await newQueue(client)
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
    const MessageAttributes = {
      text: text('Grüße ✓ <&>'),
      'text.custom': text('x', 'String.json'),
      number: text('1614717034367', 'Number'),
      'number.custom': text('-1.5e10', 'Number.float'),
      binary: { DataType: 'Binary', BinaryValue: bytes },
      'binary.custom': { DataType: 'Binary.png', BinaryValue: new Uint8Array([0]) },
      'umlaut.øßä': text('allowed'),
    }
    const sent = await send(client, queue, 'test', { MessageAttributes })
    const asked = { MessageAttributeNames: ['All'], VisibilityTimeout: 0 }
    for (const _time of ['first', 'again']) {
      const message = await receiveOne(client, queue, asked)
      assert.deepEqual(message.MessageAttributes, MessageAttributes)
      assert.equal(message.MD5OfMessageAttributes, sent.MD5OfMessageAttributes)
    }
  })

  test('the digest of a binary attribute is that of AWS', async () => {
    const client = open()
    const queue = await newQueue(client)
    const value = 'traceparent\u001e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01'
    const attr1 = { DataType: 'Binary', BinaryValue: new TextEncoder().encode(value) }
    await send(client, queue, 'test', { MessageAttributes: { attr1 } })
    const message = await receiveOne(client, queue, { MessageAttributeNames: ['All'] })
    assert.equal(message.MD5OfMessageAttributes, '8cbe4db156db8a94db8b801b7addb984')
    assert.deepEqual(message.MessageAttributes, {
      attr1: { DataType: 'Binary', BinaryValue: Uint8Array.from(attr1.BinaryValue) },
    })
  })

  test('a receive answers those it asks for, with their digest', async () => {
    const client = open()
    const queue = await newQueue(client, { VisibilityTimeout: '0' })
    const everything = { 'Help.Me': text('Me'), Hello: text('There'), General: text('Kenobi') }
    const sent = await send(client, queue, 'msg', { MessageAttributes: everything })
    assert.equal(sent.MD5OfMessageAttributes, '4c360f3fdafd970e05fae2f149d997f5')
    const { 'Help.Me': help, Hello, General } = everything
    const all = [everything, '4c360f3fdafd970e05fae2f149d997f5'] as const
    const cases = [
      [[], undefined, undefined],
      [['All'], ...all],
      [['*'], ...all],
      [['.*'], ...all],
      [['Foo', 'Help'], undefined, undefined],
      [['Hello', 'General'], { Hello, General }, 'fca026605781cb4126a1e9044df24232'],
      [['Foo', 'Hello'], { Hello }, 'a311262e065454b75da111d535b8dacd'],
      [['Hel.*'], { Hello, 'Help.Me': help }, '83fee93c1bcd8b9a5a923ffacdc636c7'],
      [['AWS.'], undefined, undefined],
      [['..foo'], undefined, undefined],
    ] as const
    for (const [names, attributes, digest] of cases) {
      const asked = { MessageAttributeNames: [...names] }
      const { MessageId, ReceiptHandle, ...message } = await receiveOne(client, queue, asked)
      assert.deepEqual(
        message,
        {
          Body: 'msg',
          MD5OfBody: '6e2baaf3b97dbeef01c0043275f9a0e7',
          ...(attributes && { MessageAttributes: attributes, MD5OfMessageAttributes: digest }),
        },
        `${names}`,
      )
    }
  })

  test('an empty value is refused', async () => {
    const client = open()
    const MessageAttributes = { ErrorDetails: text('') }
    await assertRefused(send(client, await newQueue(client), 'test', { MessageAttributes }), {
      code: 'InvalidParameterValue',
      message:
        "Message (user) attribute 'ErrorDetails' must contain a non-empty value of type 'String'.",
    })
  })

  test.each([
    ['control characters in a value', { attr1: text('Invalid-\u0008,\u000b') }],
    ['a name of AWS', { 'aWs.-attr': text('Valid') }],
    ['a name of Amazon', { 'AMAZON.-attr': text('Valid') }],
    ['a name that begins with a dot', { '.attr': text('Valid') }],
    ['a name that ends with a dot', { 'attr.': text('Valid') }],
    ['a name with two dots in a row', { 'at..tr': text('Valid') }],
    ['an exclamation mark in a name', { 'at!tr': text('Valid') }],
    ['a quote in a name', { 'at"tr': text('Valid') }],
    ['a paragraph sign in a name', { 'at§tr': text('Valid') }],
    ['a bracket in a name', { 'at(tr': text('Valid') }],
    ['a question mark in a name', { 'at?tr': text('Valid') }],
    ['a name of 257 characters', { ['L'.repeat(257)]: text('Valid') }],
    ['an unknown type', { attr: text('Valid', 'Invalid') }],
    ['a type of 263 characters', { attr: text('1', `Number.${'L'.repeat(256)}`) }],
    ['a number that is none', { attr: text('many', 'Number') }],
    ['eleven attributes', Object.fromEntries('abcdefghijk'.split('').map((n) => [n, text('x')]))],
  ])('%s: refused', async (_what, MessageAttributes) => {
    const client = open()
    const call = send(client, await newQueue(client), 'test', { MessageAttributes })
    await assertRefused(call, { code: 'InvalidParameterValue' })
  })

  test('ten of them are fine', async () => {
    const client = open()
    const attributes = Object.fromEntries('abcdefghij'.split('').map((n) => [n, text('x')]))
    await send(client, await newQueue(client), 'test', { MessageAttributes: attributes })
  })
})

describe.concurrent.each(clientKinds)('system attributes, with $name', (kind) => {
  const open = () => server.client(kind)

  test('a receive answers those it asks for', async () => {
    const client = open()
    const queue = await newQueue(client, { VisibilityTimeout: '0' })
    const before = Date.now()
    await send(client, queue, 'msg', { MessageAttributes: { Foo: text('Bar') } })
    const plain = await receiveOne(client, queue)
    assert.ok(!('Attributes' in plain) && !('MessageAttributes' in plain))

    const { Attributes: all = {} } = await receiveOne(client, queue, systemAttributes(client))
    assert.deepEqual(Object.keys(all).toSorted(), [
      'ApproximateFirstReceiveTimestamp',
      'ApproximateReceiveCount',
      'SenderId',
      'SentTimestamp',
    ])
    assert.equal(all.ApproximateReceiveCount, '2')
    for (const time of [all.SentTimestamp, all.ApproximateFirstReceiveTimestamp]) {
      assert.match(time ?? '', /^\d{13}$/)
      assert.ok(Number(time) >= before && Number(time) <= Date.now())
    }
    assert.ok(Number(all.SentTimestamp) <= Number(all.ApproximateFirstReceiveTimestamp))

    const some = systemAttributes(client, ['SenderId', 'SequenceNumber'])
    const { Attributes } = await receiveOne(client, queue, some)
    assert.deepEqual(Attributes, { SenderId: all.SenderId })

    const both = { ...systemAttributes(client), MessageAttributeNames: ['All'] }
    const message = await receiveOne(client, queue, both)
    assert.equal(message.Attributes?.ApproximateReceiveCount, '4')
    assert.deepEqual(message.MessageAttributes, { Foo: text('Bar') })
    assert.equal(message.MD5OfMessageAttributes, 'ae7155c6026991b6d54b11589678bf9c')
  })

  test('both names of the parameter can be used at once', async () => {
    const client = open()
    const queue = await newQueue(client, { VisibilityTimeout: '0' })
    await send(client, queue, 'msg')
    const { Attributes } = await receiveOne(client, queue, {
      ...systemAttributes(client),
      AttributeNames: ['All'],
    })
    assert.equal(Object.keys(Attributes ?? {}).length, 4)
  })

  test('those of a FIFO message tell its group, its id and its place', async () => {
    const client = open()
    const queue = await newFifoQueue(client, {
      VisibilityTimeout: '0',
      DeduplicationScope: 'messageGroup',
      FifoThroughputLimit: 'perMessageGroupId',
    })
    const ids = { MessageGroupId: 'group-1', MessageDeduplicationId: 'dedup-1' }
    const { SequenceNumber } = await send(client, queue, 'message-body-1', ids)
    assert.match(SequenceNumber ?? '', /^\d{20}$/)
    for (const count of ['1', '2']) {
      const { Attributes } = await receiveOne(client, queue, systemAttributes(client))
      const { SenderId, SentTimestamp, ApproximateFirstReceiveTimestamp, ...rest } = {
        ...Attributes,
      }
      assert.ok(SenderId && SentTimestamp && ApproximateFirstReceiveTimestamp)
      assert.deepEqual(rest, { ...ids, ApproximateReceiveCount: count, SequenceNumber })
    }
  })

  test('a message group on a standard queue is kept and gives no place', async () => {
    const client = open()
    const queue = await newQueue(client)
    const sent = await send(client, queue, 'message', { MessageGroupId: 'tenant' })
    assert.ok(!('SequenceNumber' in sent))
    const { Attributes } = await receiveOne(client, queue, systemAttributes(client))
    assert.deepEqual(Object.keys(Attributes ?? {}).toSorted(), [
      'ApproximateFirstReceiveTimestamp',
      'ApproximateReceiveCount',
      'MessageGroupId',
      'SenderId',
      'SentTimestamp',
    ])
    assert.equal(Attributes?.MessageGroupId, 'tenant')
  })

  test('a trace header travels with the message, with a digest of its own', async () => {
    const client = open()
    const queue = await newQueue(client)
    const MessageAttributes = { timestamp: text('1493147359900', 'Number') }
    const MessageSystemAttributes = { AWSTraceHeader: text(trace) }
    const plain = await send(client, queue, 'plain', { MessageAttributes })
    const traced = await send(client, queue, 'test', { MessageAttributes, MessageSystemAttributes })
    assert.equal(traced.MD5OfMessageAttributes, '235c5c510d26fb653d073faed50ae77c')
    assert.equal(plain.MD5OfMessageAttributes, traced.MD5OfMessageAttributes)
    assert.equal(traced.MD5OfMessageSystemAttributes, '5ae4d5d7636402d80f4eb6d213245a88')
    assert.ok(!('MD5OfMessageSystemAttributes' in plain))
    const headers = []
    for (const _message of ['plain', 'traced']) {
      const asked = { ...systemAttributes(client, ['AWSTraceHeader']), MaxNumberOfMessages: 1 }
      headers.push((await receiveOne(client, queue, asked)).Attributes?.AWSTraceHeader)
    }
    assert.deepEqual(headers, [undefined, trace])
  })

  test('other system attributes cannot be sent', async () => {
    const client = open()
    const MessageSystemAttributes = { SenderId: text('somebody else') }
    const input = { MessageSystemAttributes } as object
    await assertRefused(send(client, await newQueue(client), 'test', input), {
      code: 'InvalidParameterValue',
    })
  })
})

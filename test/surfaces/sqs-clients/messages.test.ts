/** Sending, receiving, hiding and deleting messages one by one. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  assertRefused,
  attributesOf,
  clientKinds,
  groupFor,
  newFifoQueue,
  newQueue,
  newQueueOf,
  queueKinds,
  receive,
  receiveBodies,
  receiveOne,
  seen,
  send,
} from './queue-scene.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-messages')

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

describe.concurrent.each(clientKinds)('messages, with $name', (kind) => {
  const open = () => server.client(kind)

  test.each(queueKinds)('a message of a %s queue goes its way', async (queueKind) => {
    const client = open()
    const queue = await newQueueOf(queueKind, client)
    const sent = await send(client, queue, 'message', groupFor(queueKind))
    assert.equal(sent.MD5OfMessageBody, '78e731027d8fd50ed642340b7c9a63b3')
    assert.match(sent.MessageId ?? '', uuid)
    assert.equal('SequenceNumber' in sent, queueKind === 'FIFO')
    const { ReceiptHandle, ...message } = await receiveOne(client, queue)
    assert.deepEqual(message, {
      Body: 'message',
      MD5OfBody: '78e731027d8fd50ed642340b7c9a63b3',
      MessageId: sent.MessageId,
    })
    assert.deepEqual(await client.call('ReceiveMessage', { QueueUrl: queue.url }), {})
    const handle = { QueueUrl: queue.url, ReceiptHandle }
    await client.call('ChangeMessageVisibility', { ...handle, VisibilityTimeout: 42 })
    await client.call('DeleteMessage', handle)
    const { ApproximateNumberOfMessagesNotVisible } = await attributesOf(client, queue)
    assert.equal(ApproximateNumberOfMessagesNotVisible, '0')
  })

  test.each([
    ['quotes, entities and a carriage return', '"&quot;&quot;\r'],
    ['line ends of both kinds', '{\r\n"machineID" : "d357006e26ff47439e1ef894225d4307"}\n'],
    ['every script', 'Zażółć gęślą jaźń — 日本語 — العربية — 👩‍👩‍👧‍👦 \u{10FFFF}'],
    ['markup', '<a b="c">&amp;</a><![CDATA[x]]>'],
    ['spaces at both ends', '  x\t'],
    ['what looks like a form', 'a=b&c=%20+d'],
  ])('a body with %s comes back as it was', async (_what, body) => {
    const client = open()
    const queue = await newQueue(client)
    await send(client, queue, body)
    assert.equal((await receiveOne(client, queue)).Body, body)
  })

  test.each([
    ['a control character', 'Invalid-\u0008-\u0013'],
    ['a character that XML has not', 'Invalid-\uFFFF'],
  ])('a body with %s is refused', async (_what, body) => {
    const client = open()
    await assertRefused(send(client, await newQueue(client), body), {
      code: 'InvalidMessageContents',
    })
  })

  test('an empty body is a missing parameter', async () => {
    const client = open()
    await assertRefused(send(client, await newQueue(client), ''), {
      code: 'MissingParameter',
      message: 'The request must contain the parameter MessageBody.',
    })
  })

  test('messages do not leak into other queues', async () => {
    const client = open()
    const [one, other] = [await newQueue(client), await newQueue(client)]
    await send(client, one, 'message')
    assert.deepEqual(await receiveBodies(client, other), [])
    assert.deepEqual(await receiveBodies(client, one), ['message'])
  })

  test('MaximumMessageSize counts body and attributes', async () => {
    const client = open()
    const queue = await newQueue(client, { MaximumMessageSize: '1024' })
    await send(client, queue, 'a'.repeat(1024))
    const MessageAttributes = { k: { DataType: 'String', StringValue: 'x' } }
    await send(client, queue, 'a'.repeat(1016), { MessageAttributes })
    const refused = {
      code: 'InvalidParameterValue',
      message:
        'One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.',
    }
    await assertRefused(send(client, queue, 'a'.repeat(1017), { MessageAttributes }), refused)
    await assertRefused(send(client, queue, 'ä'.repeat(513)), refused)
  })

  test.each([
    ['MaxNumberOfMessages', 11, 'Must be between 1 and 10, if provided.'],
    ['MaxNumberOfMessages', 0, 'Must be between 1 and 10, if provided.'],
    ['WaitTimeSeconds', 21, 'Must be >= 0 and <= 20, if provided.'],
    ['WaitTimeSeconds', -1, 'Must be >= 0 and <= 20, if provided.'],
  ])('a receive with %s %d is refused with the range', async (name, value, range) => {
    const client = open()
    const queue = await newQueue(client)
    await assertRefused(receive(client, queue, { [name]: value }), {
      code: 'InvalidParameterValue',
      message: `Value ${value} for parameter ${name} is invalid. Reason: ${range}`,
    })
  })

  test('visibility timeouts and delays out of bounds are refused', async () => {
    const client = open()
    const queue = await newQueue(client)
    const refused = { code: 'InvalidParameterValue' }
    await assertRefused(receive(client, queue, { VisibilityTimeout: 43_201 }), refused)
    await assertRefused(send(client, queue, 'x', { DelaySeconds: 901 }), refused)
    await assertRefused(send(client, queue, 'x', { DelaySeconds: -1 }), refused)
    await send(client, queue, 'x')
    const { ReceiptHandle } = await receiveOne(client, queue)
    const input = { QueueUrl: queue.url, ReceiptHandle, VisibilityTimeout: 43_201 }
    await assertRefused(client.call('ChangeMessageVisibility', input), refused)
  })

  test('each receive has a receipt handle of its own', async () => {
    const client = open()
    const queue = await newQueue(client)
    await send(client, queue, 'again')
    const first = await receiveOne(client, queue, { VisibilityTimeout: 0 })
    const second = await receiveOne(client, queue)
    assert.notEqual(first.ReceiptHandle, second.ReceiptHandle)
    assert.equal(first.MessageId, second.MessageId)
    // A timeout that a receive asked for is not kept for the next one.
    assert.deepEqual(await receive(client, queue), [])
  })

  test('a message comes back when its visibility timeout ends', async () => {
    const client = open()
    for (const queueKind of queueKinds) {
      const queue = await newQueueOf(queueKind, client, { VisibilityTimeout: '1' })
      await send(client, queue, 'again', groupFor(queueKind))
      await receiveOne(client, queue)
      assert.deepEqual(await receiveBodies(client, queue, { WaitTimeSeconds: 20 }), ['again'])
    }
  })

  test('a message that comes back is before those sent after it', async () => {
    const client = open()
    const queue = await newQueue(client)
    await send(client, queue, 'older')
    const { ReceiptHandle } = await receiveOne(client, queue)
    await send(client, queue, 'newer')
    const input = { QueueUrl: queue.url, ReceiptHandle, VisibilityTimeout: 0 }
    await client.call('ChangeMessageVisibility', input)
    assert.deepEqual(await receiveBodies(client, queue), ['older', 'newer'])
  })

  test('visibility of zero gives a message back at once', async () => {
    const client = open()
    for (const queueKind of queueKinds) {
      const queue = await newQueueOf(queueKind, client)
      await send(client, queue, 'again', groupFor(queueKind))
      const { ReceiptHandle } = await receiveOne(client, queue)
      const input = { QueueUrl: queue.url, ReceiptHandle, VisibilityTimeout: 0 }
      await client.call('ChangeMessageVisibility', input)
      await receiveOne(client, queue)
      assert.deepEqual(await receive(client, queue), [])
    }
  })

  test('a message stays hidden for as long as its visibility is extended', async () => {
    const client = open()
    const queue = await newQueue(client, { VisibilityTimeout: '1' })
    await send(client, queue, 'busy')
    const { ReceiptHandle } = await receiveOne(client, queue)
    const extend = (VisibilityTimeout: number) =>
      client.call('ChangeMessageVisibility', {
        ...{ QueueUrl: queue.url, ReceiptHandle, VisibilityTimeout },
      })
    await extend(600)
    assert.deepEqual(await receive(client, queue, { WaitTimeSeconds: 2 }), [])
    await extend(1)
    assert.deepEqual(await receiveBodies(client, queue, { WaitTimeSeconds: 20 }), ['busy'])
  })

  test('a standard queue takes a delete after the timeout and again', async () => {
    const client = open()
    const queue = await newQueue(client)
    await send(client, queue, 'late')
    const { ReceiptHandle } = await receiveOne(client, queue, { VisibilityTimeout: 0 })
    const handle = { QueueUrl: queue.url, ReceiptHandle }
    await client.call('DeleteMessage', handle)
    assert.deepEqual(await receive(client, queue), [])
    await client.call('DeleteMessage', handle)
    await client.call('DeleteMessage', handle)
  })

  test('a standard queue takes a delete with a handle of an earlier receive', async () => {
    const client = open()
    const queue = await newQueue(client)
    await send(client, queue, 'twice')
    const { ReceiptHandle } = await receiveOne(client, queue, { VisibilityTimeout: 0 })
    await receiveOne(client, queue, { VisibilityTimeout: 0 })
    await client.call('DeleteMessage', { QueueUrl: queue.url, ReceiptHandle })
    const { ApproximateNumberOfMessages } = await attributesOf(client, queue)
    assert.equal(ApproximateNumberOfMessages, '0')
  })

  test('a standard queue takes a change of visibility after the timeout', async () => {
    const client = open()
    const queue = await newQueue(client, { VisibilityTimeout: '0' })
    await send(client, queue, 'late')
    const { ReceiptHandle } = await receiveOne(client, queue)
    const input = { QueueUrl: queue.url, ReceiptHandle, VisibilityTimeout: 30 }
    await client.call('ChangeMessageVisibility', input)
    assert.deepEqual(await receive(client, queue), [])
  })

  test('a handle of an earlier receive changes nothing while another receiver holds the message', async () => {
    const client = open()
    const queue = await newQueue(client)
    await send(client, queue, 'shared')
    const { ReceiptHandle } = await receiveOne(client, queue, { VisibilityTimeout: 0 })
    const holder = await receiveOne(client, queue, { VisibilityTimeout: 30 })
    const input = { QueueUrl: queue.url, ReceiptHandle, VisibilityTimeout: 0 }
    await assertRefused(client.call('ChangeMessageVisibility', input), {
      code: 'InvalidParameterValue',
      message: `Value ${ReceiptHandle} for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.`,
    })
    await client.call('DeleteMessage', { QueueUrl: queue.url, ReceiptHandle })
    assert.deepEqual(await receive(client, queue), [])
    const release = { ...input, ReceiptHandle: holder.ReceiptHandle }
    await client.call('ChangeMessageVisibility', release)
    await receiveOne(client, queue)
  })

  test('a FIFO queue refuses a delete after the timeout', async () => {
    const client = open()
    const queue = await newFifoQueue(client, { VisibilityTimeout: '1' })
    await send(client, queue, 'late', { MessageGroupId: 'g' })
    const { ReceiptHandle } = await receiveOne(client, queue)
    // The handle has expired, whether or not somebody else has the message by then.
    await seen(client, queue, { ApproximateNumberOfMessages: '1' })
    await assertRefused(client.call('DeleteMessage', { QueueUrl: queue.url, ReceiptHandle }), {
      code: 'InvalidParameterValue',
      message: `Value ${ReceiptHandle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.`,
    })
    assert.deepEqual(await receiveBodies(client, queue), ['late'])
  })

  test('an extension moves the end of a FIFO handle', async () => {
    const client = open()
    const queue = await newFifoQueue(client, { VisibilityTimeout: '5' })
    await send(client, queue, 'busy', { MessageGroupId: 'g' })
    const { ReceiptHandle } = await receiveOne(client, queue)
    const handle = { QueueUrl: queue.url, ReceiptHandle }
    await client.call('ChangeMessageVisibility', { ...handle, VisibilityTimeout: 60 })
    assert.deepEqual(await receive(client, queue, { WaitTimeSeconds: 6 }), [])
    await client.call('DeleteMessage', handle)
    const { ApproximateNumberOfMessagesNotVisible } = await attributesOf(client, queue)
    assert.equal(ApproximateNumberOfMessagesNotVisible, '0')
  })

  test('a change of visibility after a delete is refused', async () => {
    const client = open()
    const queue = await newQueue(client)
    await send(client, queue, 'gone')
    const { ReceiptHandle } = await receiveOne(client, queue)
    const handle = { QueueUrl: queue.url, ReceiptHandle }
    await client.call('DeleteMessage', handle)
    await assertRefused(
      client.call('ChangeMessageVisibility', { ...handle, VisibilityTimeout: 9 }),
      {
        code: 'InvalidParameterValue',
        message: `Value ${ReceiptHandle} for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.`,
      },
    )
  })

  test.each(queueKinds)('a %s queue knows no handles of other makers', async (queueKind) => {
    const client = open()
    const { url: QueueUrl } = await newQueueOf(queueKind, client)
    const handle = { QueueUrl, ReceiptHandle: 'garbage' }
    const refused = {
      code: 'ReceiptHandleIsInvalid',
      message: 'The input receipt handle "garbage" is not a valid receipt handle.',
    }
    await assertRefused(client.call('DeleteMessage', handle), refused)
    const change = { ...handle, VisibilityTimeout: 1 }
    await assertRefused(client.call('ChangeMessageVisibility', change), refused)
  })
})

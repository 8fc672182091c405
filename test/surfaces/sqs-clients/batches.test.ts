/** The three batch actions: what they do, and what they refuse as a whole or entry by entry. */
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
  simpleQueue,
} from './queue-scene.ts'
import type { InputOf, SqsClient } from './sqs-client.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-batches')

type SendEntries = NonNullable<InputOf<'SendMessageBatch'>['Entries']>

const sendBatch = (client: SqsClient, url: string, Entries: SendEntries) =>
  client.call('SendMessageBatch', { QueueUrl: url, Entries })

const numbers = (count: number): readonly number[] => [...Array(count).keys()]

describe.concurrent.each(clientKinds)('batches, with $name', (kind) => {
  const open = () => server.client(kind)

  test.each(queueKinds)('ten messages of a %s queue go their way', async (queueKind) => {
    const client = open()
    const { url } = await newQueueOf(queueKind, client)
    const entries = numbers(10).map((n) => ({
      Id: `message-${n}`,
      MessageBody: `body-${n}`,
      ...groupFor(queueKind),
    }))
    const { Successful = [], ...rest } = await sendBatch(client, url, entries)
    assert.deepEqual(rest, {})
    assert.deepEqual(
      Successful.map(({ Id }) => Id),
      entries.map(({ Id }) => Id),
    )
    const messages = await receive(client, { url })
    assert.deepEqual(
      messages.map(({ MessageId }) => MessageId),
      Successful.map(({ MessageId }) => MessageId),
    )
    const handles = messages.map(({ ReceiptHandle }, n) => ({ Id: `${n}`, ReceiptHandle }))
    const ids = handles.map(({ Id }) => ({ Id }))
    const changes = handles.map((entry) => ({ ...entry, VisibilityTimeout: 60 }))
    assert.deepEqual(
      await client.call('ChangeMessageVisibilityBatch', { QueueUrl: url, Entries: changes }),
      { Successful: ids },
    )
    assert.deepEqual(await client.call('DeleteMessageBatch', { QueueUrl: url, Entries: handles }), {
      Successful: ids,
    })
    const counts = await attributesOf(client, { url })
    assert.equal(counts['ApproximateNumberOfMessagesNotVisible'], '0')
  })

  test('a message with invalid characters fails alone', async () => {
    const client = open()
    const { url } = await newQueue(client)
    const good = numbers(9).map((n) => ({ Id: `${n}`, MessageBody: `${n}` }))
    const entries = [...good, { Id: '9', MessageBody: '\u0001' }]
    const { Failed = [], Successful = [] } = await sendBatch(client, url, entries)
    assert.equal(Successful.length, 9)
    const [{ Message, ...failed } = {}] = Failed
    assert.deepEqual(failed, { Id: '9', Code: 'InvalidMessageContents', SenderFault: true })
    assert.ok(Message)
    assert.equal((await receive(client, { url })).length, 9)
  })

  test('a message that is too long for the queue fails alone', async () => {
    const client = open()
    const { url } = await newQueue(client, { MaximumMessageSize: '1024' })
    const { Failed, Successful = [] } = await sendBatch(client, url, [
      { Id: 'fits', MessageBody: 'a'.repeat(1024) },
      { Id: 'too-long', MessageBody: 'a'.repeat(1025) },
    ])
    assert.deepEqual(
      Successful.map(({ Id, MD5OfMessageBody }) => ({ Id, MD5OfMessageBody })),
      [{ Id: 'fits', MD5OfMessageBody: 'c9a34cfc85d982698c6ac89f76071abd' }],
    )
    assert.deepEqual(Failed, [
      {
        Id: 'too-long',
        Code: 'InvalidParameterValue',
        Message:
          'One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes.',
        SenderFault: true,
      },
    ])
  })

  test('MaximumMessageSize is for a message, not for a batch', async () => {
    const client = open()
    const { url } = await newQueue(client, { MaximumMessageSize: '2048' })
    const MessageAttributes = { k: { DataType: 'String', StringValue: 'x' } }
    const answer = await sendBatch(client, url, [
      { Id: '1', MessageBody: 'a'.repeat(2040), MessageAttributes },
      { Id: '2', MessageBody: 'a' },
    ])
    assert.deepEqual(
      answer.Successful?.map(({ MessageId, ...entry }) => entry),
      [
        {
          Id: '1',
          MD5OfMessageAttributes: 'a45daa70926828a2f0a1db3418e6feb4',
          MD5OfMessageBody: 'f44facf5a7ee0af446ecf3e0f854441e',
        },
        { Id: '2', MD5OfMessageBody: '0cc175b9c0f1b6a831c399e269772661' },
      ],
    )
  })

  test('receipt handles that are wrong fail alone', async () => {
    const client = open()
    const { url } = await newQueue(client)
    await sendBatch(client, url, [{ Id: 'a', MessageBody: 'x' }])
    const [message] = await receive(client, { url })
    const entries = [
      { Id: 'good', ReceiptHandle: message?.ReceiptHandle },
      { Id: 'bad', ReceiptHandle: 'garbage' },
    ]
    const failed = [{ Id: 'bad', Code: 'ReceiptHandleIsInvalid', SenderFault: true }]
    const withoutText = (answer: { Failed?: { Message?: string | undefined }[] | undefined }) =>
      answer.Failed?.map(({ Message, ...entry }) => entry)
    const changes = entries.map((entry) => ({ ...entry, VisibilityTimeout: 60 }))
    const changed = await client.call('ChangeMessageVisibilityBatch', {
      QueueUrl: url,
      Entries: changes,
    })
    assert.deepEqual(changed.Successful, [{ Id: 'good' }])
    assert.deepEqual(withoutText(changed), failed)
    const input = { QueueUrl: url, Entries: entries }
    const deleted = await client.call('DeleteMessageBatch', input)
    assert.deepEqual(deleted.Successful, [{ Id: 'good' }])
    assert.deepEqual(withoutText(deleted), failed)
  })

  /** The three actions with entries of their own, each of which has these ids. */
  const withIds = (client: SqsClient, QueueUrl: string, ids: readonly string[]) => [
    () =>
      client.call('SendMessageBatch', {
        QueueUrl,
        Entries: ids.map((Id) => ({ Id, MessageBody: 'x' })),
      }),
    () =>
      client.call('DeleteMessageBatch', {
        QueueUrl,
        Entries: ids.map((Id) => ({ Id, ReceiptHandle: 'testHandle1' })),
      }),
    () =>
      client.call('ChangeMessageVisibilityBatch', {
        QueueUrl,
        Entries: ids.map((Id) => ({ Id, ReceiptHandle: 'testHandle1', VisibilityTimeout: 123 })),
      }),
  ]

  test('more than ten entries are refused with their number', async () => {
    const client = open()
    const { url } = await newQueue(client)
    for (const call of withIds(client, url, numbers(20).map(String))) {
      await assertRefused(call(), {
        code: simpleQueue('TooManyEntriesInBatchRequest'),
        message: 'Maximum number of entries per request are 10. You have sent 20.',
      })
    }
  })

  test('no entries at all are refused', async () => {
    const client = open()
    const { url } = await newQueue(client)
    for (const call of withIds(client, url, [])) {
      await assertRefused(call(), { code: simpleQueue('EmptyBatchRequest') })
    }
  })

  test('the same id twice is refused and named', async () => {
    const client = open()
    const { url } = await newQueue(client)
    for (const call of withIds(client, url, ['one', 'two', 'one'])) {
      await assertRefused(call(), {
        code: simpleQueue('BatchEntryIdsNotDistinct'),
        message: 'Id one repeated.',
      })
    }
  })

  test.each(['', 'testLongId'.repeat(10), 'invalid:id'])('the id "%s" is refused', async (id) => {
    const client = open()
    const { url } = await newQueue(client)
    for (const call of withIds(client, url, [id])) {
      await assertRefused(call(), {
        code: simpleQueue('InvalidBatchEntryId'),
        message:
          'A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.',
      })
    }
  })

  test('a FIFO entry without a group fails the whole batch', async () => {
    const client = open()
    const queue = await newFifoQueue(client)
    const entries = [
      { Id: 'a', MessageBody: 'x', MessageGroupId: 'g' },
      { Id: 'b', MessageBody: 'x' },
    ]
    await assertRefused(sendBatch(client, queue.url, entries), {
      code: 'InvalidParameterValue',
      message: 'The request must contain the parameter MessageGroupId.',
    })
    assert.deepEqual(await receiveBodies(client, queue), [])
  })

  test('a FIFO entry without a deduplication id fails the whole batch', async () => {
    const client = open()
    const queue = await newFifoQueue(client, { ContentBasedDeduplication: 'false' })
    const entries = [
      { Id: 'a', MessageBody: 'x', MessageGroupId: 'g', MessageDeduplicationId: 'd' },
      { Id: 'b', MessageBody: 'x', MessageGroupId: 'g' },
    ]
    await assertRefused(sendBatch(client, queue.url, entries), {
      code: 'InvalidParameterValue',
      message:
        'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
    })
    assert.deepEqual(await receiveBodies(client, queue), [])
  })

  test('delays and attributes are those of each entry', async () => {
    const client = open()
    const queue = await newQueue(client)
    await sendBatch(client, queue.url, [
      { Id: 'a', MessageBody: 'later', DelaySeconds: 900 },
      {
        Id: 'b',
        MessageBody: 'now',
        MessageAttributes: {
          bytes: { DataType: 'Binary', BinaryValue: new Uint8Array([0, 255]) },
          kind: { DataType: 'String', StringValue: 'ä&b' },
        },
      },
    ])
    const messages = await receive(client, queue, { MessageAttributeNames: ['All'] })
    assert.deepEqual(
      messages.map(({ Body, MessageAttributes }) => [Body, MessageAttributes]),
      [
        [
          'now',
          {
            bytes: { DataType: 'Binary', BinaryValue: new Uint8Array([0, 255]) },
            kind: { DataType: 'String', StringValue: 'ä&b' },
          },
        ],
      ],
    )
  })
})

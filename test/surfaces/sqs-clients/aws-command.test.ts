/**
 * The aws command: every action once, on a standard and on a FIFO queue, and once refused. A call takes
 * most of a second, so what the other clients have shown is not repeated, and tests run side by side.
 */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, test } from 'vitest'
import { awsCommand } from './aws-command.ts'
import {
  assertRefused,
  attributesOf,
  freshName,
  groupFor,
  newQueueOf,
  queueKinds,
  receive,
  receiveOne,
  send,
  simpleQueue,
  systemAttributes,
} from './queue-scene.ts'
import type { ActionName, InputOf } from './sqs-client.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-aws-command')

const open = () => server.client(awsCommand)

describe.concurrent.each(queueKinds)('the aws command with a %s queue', (kind) => {
  test('creates, finds, lists, changes and deletes it', async () => {
    const client = open()
    const { name, url: QueueUrl } = await newQueueOf(kind, client, { VisibilityTimeout: '40' })
    assert.deepEqual(await client.call('GetQueueUrl', { QueueName: name }), { QueueUrl })
    const listed = await client.call('ListQueues', { QueueNamePrefix: name })
    assert.deepEqual(listed, { QueueUrls: [QueueUrl] })
    const Attributes = { VisibilityTimeout: '41' }
    await client.call('SetQueueAttributes', { QueueUrl, Attributes })
    const shown = await attributesOf(client, { url: QueueUrl })
    assert.equal(shown['VisibilityTimeout'], '41')
    assert.equal(Object.keys(shown).length, kind === 'FIFO' ? 16 : 12)
    await client.call('PurgeQueue', { QueueUrl })
    await client.call('DeleteQueue', { QueueUrl })
    await assertRefused(client.call('GetQueueUrl', { QueueName: name }), {
      code: simpleQueue('NonExistentQueue'),
      message: 'The specified queue does not exist for this wsdl version.',
    })
  })

  test('tags it and permits things', async () => {
    const client = open()
    const { url: QueueUrl } = await newQueueOf(kind, client)
    await client.call('TagQueue', { QueueUrl, Tags: { team: 'Grüße', empty: '' } })
    await client.call('UntagQueue', { QueueUrl, TagKeys: ['empty'] })
    assert.deepEqual(await client.call('ListQueueTags', { QueueUrl }), { Tags: { team: 'Grüße' } })
    const permission = {
      QueueUrl,
      Label: 'them',
      AWSAccountIds: ['111111111111'],
      Actions: ['SendMessage'],
    }
    await client.call('AddPermission', permission)
    const { Policy = '{}' } = await attributesOf(client, { url: QueueUrl }, ['Policy'])
    assert.equal(JSON.parse(Policy).Statement[0].Sid, 'them')
    await client.call('RemovePermission', { QueueUrl, Label: 'them' })
    assert.deepEqual(await attributesOf(client, { url: QueueUrl }, ['Policy']), {})
  })

  test('sends, receives, hides and deletes messages', async () => {
    const client = open()
    const queue = await newQueueOf(kind, client)
    const MessageAttributes = {
      text: { DataType: 'String', StringValue: 'ä<&>' },
      bytes: { DataType: 'Binary', BinaryValue: new Uint8Array([0, 128, 255]) },
    }
    const sent = await send(client, queue, 'body ä', { MessageAttributes, ...groupFor(kind) })
    const asked = { ...systemAttributes(client), MessageAttributeNames: ['All'] }
    const message = await receiveOne(client, queue, asked)
    assert.equal(message.MessageId, sent.MessageId)
    assert.equal(message.Body, 'body ä')
    assert.deepEqual(message.MessageAttributes, MessageAttributes)
    assert.equal(message.MD5OfMessageAttributes, sent.MD5OfMessageAttributes)
    assert.equal(message.Attributes?.ApproximateReceiveCount, '1')
    const handle = { QueueUrl: queue.url, ReceiptHandle: message.ReceiptHandle }
    await client.call('ChangeMessageVisibility', { ...handle, VisibilityTimeout: 0 })
    const again = await receiveOne(client, queue)
    const { ReceiptHandle } = again
    await client.call('DeleteMessage', { QueueUrl: queue.url, ReceiptHandle })
    assert.deepEqual(await client.call('ReceiveMessage', { QueueUrl: queue.url }), {})
  })

  test('does the same in batches', async () => {
    const client = open()
    const { url: QueueUrl } = await newQueueOf(kind, client)
    const Entries = ['one', 'two'].map((Id) => ({ Id, MessageBody: Id, ...groupFor(kind) }))
    const { Successful } = await client.call('SendMessageBatch', { QueueUrl, Entries })
    assert.deepEqual(
      Successful?.map(({ Id }) => Id),
      ['one', 'two'],
    )
    const messages = await receive(client, { url: QueueUrl })
    const handles = messages.map(({ Body, ReceiptHandle }) => ({ Id: Body, ReceiptHandle }))
    const changes = handles.map((entry) => ({ ...entry, VisibilityTimeout: 60 }))
    const done = { Successful: [{ Id: 'one' }, { Id: 'two' }] }
    const change = { QueueUrl, Entries: changes }
    assert.deepEqual(await client.call('ChangeMessageVisibilityBatch', change), done)
    const drop = { QueueUrl, Entries: handles }
    assert.deepEqual(await client.call('DeleteMessageBatch', drop), done)
  })

  test('moves dead letters back', async () => {
    const client = open()
    const dead = await newQueueOf(kind, client)
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount: 1 })
    const queue = await newQueueOf(kind, client, { RedrivePolicy, VisibilityTimeout: '0' })
    const sources = await client.call('ListDeadLetterSourceQueues', { QueueUrl: dead.url })
    assert.deepEqual(sources, { queueUrls: [queue.url] })
    const Entries = [...'abcdefghij'].map((Id) => ({ Id, MessageBody: Id, ...groupFor(kind) }))
    await client.call('SendMessageBatch', { QueueUrl: queue.url, Entries })
    assert.equal((await receive(client, queue)).length, 10)
    assert.deepEqual(await receive(client, queue), [])
    const start = { SourceArn: dead.arn, MaxNumberOfMessagesPerSecond: 1 }
    const { TaskHandle } = await client.call('StartMessageMoveTask', start)
    const cancelled = await client.call('CancelMessageMoveTask', { TaskHandle })
    assert.ok(Number(cancelled.ApproximateNumberOfMessagesMoved) < 10)
    for (;;) {
      const { Results = [] } = await client.call('ListMessageMoveTasks', { SourceArn: dead.arn })
      if (Results[0]?.Status === 'CANCELLED') break
      await pause(50)
    }
  })
})

/** An input for each action that is refused, with the code. */
const refusals: readonly (readonly [ActionName, string, object])[] = [
  ['AddPermission', simpleQueue('NonExistentQueue'), { AWSAccountIds: ['1'], Actions: ['*'] }],
  ['CancelMessageMoveTask', 'InvalidParameterValue', { TaskHandle: 'garbage' }],
  [
    'ChangeMessageVisibility',
    simpleQueue('NonExistentQueue'),
    { ReceiptHandle: 'x', VisibilityTimeout: 0 },
  ],
  ['ChangeMessageVisibilityBatch', simpleQueue('EmptyBatchRequest'), { Entries: [] }],
  ['CreateQueue', 'InvalidParameterValue', { QueueName: 'a b' }],
  ['DeleteMessage', simpleQueue('NonExistentQueue'), { ReceiptHandle: 'x' }],
  ['DeleteMessageBatch', simpleQueue('EmptyBatchRequest'), { Entries: [] }],
  ['DeleteQueue', simpleQueue('NonExistentQueue'), {}],
  ['GetQueueAttributes', simpleQueue('NonExistentQueue'), { AttributeNames: ['All'] }],
  ['GetQueueUrl', simpleQueue('NonExistentQueue'), { QueueName: 'missing' }],
  ['ListDeadLetterSourceQueues', simpleQueue('NonExistentQueue'), {}],
  ['ListMessageMoveTasks', 'ResourceNotFoundException', { SourceArn: missingArn() }],
  ['ListQueueTags', simpleQueue('NonExistentQueue'), {}],
  ['ListQueues', 'InvalidParameterValue', { MaxResults: 1001 }],
  ['PurgeQueue', simpleQueue('NonExistentQueue'), {}],
  ['ReceiveMessage', simpleQueue('NonExistentQueue'), {}],
  ['RemovePermission', simpleQueue('NonExistentQueue'), { Label: 'none' }],
  ['SendMessage', simpleQueue('NonExistentQueue'), { MessageBody: 'x' }],
  ['SendMessageBatch', simpleQueue('EmptyBatchRequest'), { Entries: [] }],
  ['SetQueueAttributes', simpleQueue('NonExistentQueue'), { Attributes: { DelaySeconds: '1' } }],
  ['StartMessageMoveTask', 'ResourceNotFoundException', { SourceArn: missingArn() }],
  ['TagQueue', simpleQueue('NonExistentQueue'), { Tags: { a: 'b' } }],
  ['UntagQueue', simpleQueue('NonExistentQueue'), { TagKeys: ['a'] }],
]

function missingArn(): string {
  return 'arn:aws:sqs:us-east-1:000000000000:missing'
}

describe.concurrent('the aws command', () => {
  test.each(refusals)('shows why %s was refused: %s', async (action, code, input) => {
    const onQueue = !['CreateQueue', 'GetQueueUrl', 'ListQueues'].includes(action)
    const isBatch = action.endsWith('Batch')
    const client = open()
    const url = isBatch
      ? (await newQueueOf('standard', client)).url
      : `${server.url}/000000000000/${freshName('missing')}`
    const label = action === 'AddPermission' ? { Label: 'x' } : {}
    const queue = onQueue && !action.includes('MoveTask') ? { QueueUrl: url } : {}
    // The table says what each action needs.
    const whole = { ...queue, ...label, ...input } as InputOf<typeof action>
    await assertRefused(client.call(action, whole), { code })
  })

  test('the table of refusals has every action', () => {
    assert.equal(new Set(refusals.map(([action]) => action)).size, 23)
  })
})

/** The rules of the three batches, and what becomes of single entries. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Action } from '../../../src/surfaces/sqs-protocol/action.ts'
import { changeMessageVisibilityBatch } from '../../../src/surfaces/sqs-protocol/actions/change-message-visibility-batch.ts'
import { deleteMessageBatch } from '../../../src/surfaces/sqs-protocol/actions/delete-message-batch.ts'
import { sendMessageBatch } from '../../../src/surfaces/sqs-protocol/actions/send-message-batch.ts'
import {
  type ActionScene,
  type BatchAnswer,
  type Fields,
  minute,
  openScene,
  refusal,
} from './action-scene.ts'

type Entries = readonly Fields[]

function run(
  scene: ActionScene,
  action: Action,
  queue: string,
  Entries: Entries,
): Promise<BatchAnswer> {
  return scene.call<BatchAnswer>(action, queue, { Entries })
}

describe.each([
  ['SendMessageBatchRequestEntry', sendMessageBatch],
  ['DeleteMessageBatchRequestEntry', deleteMessageBatch],
  ['ChangeMessageVisibilityBatchRequestEntry', changeMessageVisibilityBatch],
])('a batch of %s', (entryName, action) => {
  const invalidId = {
    code: 'AWS.SimpleQueueService.InvalidBatchEntryId',
    message:
      'A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.',
  }

  test.each<[string, Entries, { code: string; message: string }]>([
    [
      'nothing in it',
      [],
      {
        code: 'AWS.SimpleQueueService.EmptyBatchRequest',
        message: `There should be at least one ${entryName} in the request.`,
      },
    ],
    [
      'twenty entries',
      Array.from({ length: 20 }, (_, index) => ({ Id: `${index}` })),
      {
        code: 'AWS.SimpleQueueService.TooManyEntriesInBatchRequest',
        message: 'Maximum number of entries per request are 10. You have sent 20.',
      },
    ],
    [
      'an entry without an id',
      [{ Id: '1' }, {}],
      {
        code: 'MissingParameter',
        message: `The request must contain the parameter ${entryName}.2.Id.`,
      },
    ],
    ['an empty id', [{ Id: '' }], invalidId],
    ['a long id', [{ Id: 'x'.repeat(81) }], invalidId],
    ['an id with a colon', [{ Id: 'invalid:id' }], invalidId],
    [
      'an id twice',
      [{ Id: 'some-id' }, { Id: 'some-id' }],
      { code: 'AWS.SimpleQueueService.BatchEntryIdsNotDistinct', message: 'Id some-id repeated.' },
    ],
  ])('with %s is refused as a whole', async (_what, entries, expected) => {
    const scene = await openScene()
    const queue = await scene.queue('q')
    assert.deepEqual(await refusal(run(scene, action, queue, entries)), expected)
  })

  test('without its entries is an empty one', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q')
    const { code } = await refusal(scene.call(action, queue))
    assert.equal(code, 'AWS.SimpleQueueService.EmptyBatchRequest')
  })
})

describe('sending a batch', () => {
  const body = (Id: string, MessageBody: string): Fields => ({ Id, MessageBody })

  test('answers every entry by its id, with digests', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q')
    const one = { DataType: 'Number', StringValue: '1' }
    const trace = { DataType: 'String', StringValue: 'some-value' }
    const { Successful, Failed } = await run(scene, sendMessageBatch, queue, [
      { ...body('a', 'some message'), MessageAttributes: { data1: one } },
      { ...body('b', 'some message 2'), MessageSystemAttributes: { AWSTraceHeader: trace } },
    ])
    assert.deepEqual(Failed, [])
    assert.deepEqual(
      Successful.map(({ MessageId, ...rest }) => rest),
      [
        {
          Id: 'a',
          MD5OfMessageBody: 'df49b60423903e095b80d9b4a92eb065',
          MD5OfMessageAttributes: 'cc7f712733e0ad2cc9f1fefbd28bab9c',
        },
        {
          Id: 'b',
          MD5OfMessageBody: '36e8a424130490596fc507dba99d2ace',
          MD5OfMessageSystemAttributes: 'a3263a0cbc09023ccd431feb61438309',
        },
      ],
    )
    assert.deepEqual(await scene.bodies(queue), ['some message', 'some message 2'])
  })

  test('on a standard queue fails only the entries that are wrong', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q', { messageBytesMax: 1_024 })
    const { Successful, Failed } = await run(scene, sendMessageBatch, queue, [
      body('good', 'x'),
      body('empty', ''),
      body('character', '\u0001'),
      body('large', 'x'.repeat(1_025)),
      { ...body('group', 'x'), MessageGroupId: ' ' },
      { ...body('duplicate', 'x'), MessageDeduplicationId: 'd' },
    ])
    assert.deepEqual(
      Successful.map(({ Id }) => Id),
      ['good'],
    )
    const failed = (Id: string, Code: string, Message: string) =>
      ({ Id, SenderFault: true, Code, Message }) as const
    const byId = new Map(Failed.map((entry) => [entry.Id, entry]))
    assert.deepEqual([...byId.values()].length, 5)
    assert.deepEqual(
      byId.get('empty'),
      failed(
        'empty',
        'MissingParameter',
        'The request must contain the parameter SendMessageBatchRequestEntry.2.MessageBody.',
      ),
    )
    assert.deepEqual(
      byId.get('large'),
      failed(
        'large',
        'InvalidParameterValue',
        'One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes.',
      ),
    )
    assert.deepEqual(
      byId.get('duplicate'),
      failed(
        'duplicate',
        'InvalidParameterValue',
        'The request include parameter that is not valid for this queue type',
      ),
    )
    assert.equal(byId.get('character')?.Code, 'InvalidMessageContents')
    assert.equal(byId.get('group')?.Code, 'InvalidParameterValue')
    assert.deepEqual(await scene.bodies(queue), ['x'])
  })

  test('fails with both numbers when its messages are longer than 1 MiB together', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q')
    const half = 'x'.repeat(524_288)
    const fits = await run(scene, sendMessageBatch, queue, [body('a', half), body('b', half)])
    assert.equal(fits.Successful.length, 2)
    const attribute = { a: { DataType: 'String', StringValue: 'é' } }
    const tooLong = [body('a', half), { ...body('b', half), MessageAttributes: attribute }]
    assert.deepEqual(await refusal(run(scene, sendMessageBatch, queue, tooLong)), {
      code: 'AWS.SimpleQueueService.BatchRequestTooLong',
      message: 'Batch requests cannot be longer than 1048576 bytes. You have sent 1048585 bytes.',
    })
  })

  test.each<[string, Fields, string]>([
    [
      'without a group',
      { MessageDeduplicationId: 'd' },
      'The request must contain the parameter MessageGroupId.',
    ],
    [
      'without a deduplication id',
      { MessageGroupId: 'g' },
      'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
    ],
    [
      'with a delay',
      { MessageGroupId: 'g', MessageDeduplicationId: 'd', DelaySeconds: 3 },
      'Value 3 for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for this queue type.',
    ],
    [
      'that is too large',
      { MessageBody: 'x'.repeat(1_025), MessageGroupId: 'g', MessageDeduplicationId: 'd' },
      'One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.',
    ],
  ])('on a FIFO queue fails as a whole for an entry %s', async (_what, fields, message) => {
    const scene = await openScene()
    const queue = await scene.queue('q.fifo', { messageBytesMax: 1_024 })
    const entries = [
      { ...body('good', 'x'), MessageGroupId: 'g', MessageDeduplicationId: 'good' },
      { ...body('bad', 'x'), ...fields },
    ]
    assert.deepEqual(await refusal(run(scene, sendMessageBatch, queue, entries)), {
      code: 'InvalidParameterValue',
      message,
    })
    assert.deepEqual(await scene.receive(queue), [])
  })

  test('on a FIFO queue keeps its order and repeats the numbers of duplicates', async () => {
    const scene = await openScene()
    const queue = await scene.queue('q.fifo', { deduplicateByContent: true })
    const bodies = ['a', 'b', 'a']
    const entries = bodies.map((text, index) => ({
      ...body(`${index}`, text),
      MessageGroupId: 'g',
    }))
    const { Successful } = await run(scene, sendMessageBatch, queue, entries)
    const [first, second, third] = Successful.map(({ SequenceNumber }) => SequenceNumber)
    assert.equal(first, third)
    assert.notEqual(first, second)
    assert.deepEqual(await scene.bodies(queue), ['a', 'b'])
  })
})

describe('deleting and changing a batch', () => {
  async function threeInHand(scene: ActionScene): Promise<readonly string[]> {
    const queue = await scene.queue('q', { visibilityMs: minute })
    for (const body of ['a', 'b', 'c']) await scene.send(queue, body)
    const messages = await scene.receive(queue, { MaxNumberOfMessages: 10 })
    return messages.map(({ ReceiptHandle }) => ReceiptHandle)
  }

  test('deletes what can be deleted and tells of the rest', async () => {
    const scene = await openScene()
    const [a, b] = await threeInHand(scene)
    const { Successful, Failed } = await run(scene, deleteMessageBatch, 'q', [
      { Id: '1', ReceiptHandle: a },
      { Id: '2', ReceiptHandle: 'dummy' },
      { Id: '3' },
      { Id: '4', ReceiptHandle: b },
      { Id: '5', ReceiptHandle: a },
    ])
    assert.deepEqual(Successful, [{ Id: '1' }, { Id: '4' }, { Id: '5' }])
    assert.deepEqual(Failed, [
      {
        Id: '2',
        SenderFault: true,
        Code: 'ReceiptHandleIsInvalid',
        Message: 'The input receipt handle "dummy" is not a valid receipt handle.',
      },
      {
        Id: '3',
        SenderFault: true,
        Code: 'MissingParameter',
        Message: 'The request must contain the parameter ReceiptHandle.',
      },
    ])
    await scene.clock.advance(minute)
    assert.deepEqual(await scene.bodies('q'), ['c'])
  })

  test('changes each message by its own time, 0 among them', async () => {
    const scene = await openScene()
    const [a, b, c] = await threeInHand(scene)
    const { Successful, Failed } = await run(scene, changeMessageVisibilityBatch, 'q', [
      { Id: '1', ReceiptHandle: a, VisibilityTimeout: 120 },
      { Id: '2', ReceiptHandle: b, VisibilityTimeout: 0 },
      { Id: '3', ReceiptHandle: c, VisibilityTimeout: -85 },
      { Id: '4', ReceiptHandle: c },
      { Id: '5', VisibilityTimeout: 1 },
      { Id: '6', ReceiptHandle: 'dummy', VisibilityTimeout: 0 },
    ])
    assert.deepEqual(Successful, [{ Id: '1' }, { Id: '2' }])
    assert.deepEqual(
      Failed.map(({ Id, Code, Message }) => [Id, Code, Message]),
      [
        [
          '3',
          'InvalidParameterValue',
          'Value -85 for parameter VisibilityTimeout is invalid. Reason: VisibilityTimeout must be an integer between 0 and 43200.',
        ],
        [
          '4',
          'MissingParameter',
          'The request must contain the parameter ChangeMessageVisibilityBatchRequestEntry.4.VisibilityTimeout.',
        ],
        ['5', 'MissingParameter', 'The request must contain the parameter ReceiptHandle.'],
        [
          '6',
          'ReceiptHandleIsInvalid',
          'The input receipt handle "dummy" is not a valid receipt handle.',
        ],
      ],
    )
    assert.deepEqual(await scene.bodies('q', { VisibilityTimeout: 600 }), ['b'])
    await scene.clock.advance(minute)
    assert.deepEqual(await scene.bodies('q', { VisibilityTimeout: 600 }), ['c'])
    await scene.clock.advance(minute)
    assert.deepEqual(await scene.bodies('q'), ['a'])
  })
})

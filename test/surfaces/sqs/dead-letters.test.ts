/** Dead letters, and moving them back with move tasks. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { cancelMessageMoveTask } from '../../../src/surfaces/sqs-protocol/actions/cancel-message-move-task.ts'
import { listMessageMoveTasks } from '../../../src/surfaces/sqs-protocol/actions/list-message-move-tasks.ts'
import { startMessageMoveTask } from '../../../src/surfaces/sqs-protocol/actions/start-message-move-task.ts'
import { SqsError } from '../../../src/surfaces/sqs-protocol/sqs-error.ts'
import { type ActionScene, type Fields, openScene, refusal, second } from './action-scene.ts'

const arn = (name: string): string => `arn:aws:sqs:us-east-1:000000000000:${name}`

interface Task {
  readonly TaskHandle?: string
  readonly Status: string
  readonly StartedTimestamp: number
}

const start = (scene: ActionScene, fields: Fields): Promise<{ readonly TaskHandle: string }> =>
  scene.call(startMessageMoveTask, '', fields)

const cancel = (
  scene: ActionScene,
  TaskHandle: string,
): Promise<{ readonly ApproximateNumberOfMessagesMoved: number }> =>
  scene.call(cancelMessageMoveTask, '', { TaskHandle })

async function tasks(scene: ActionScene, fields: Fields): Promise<readonly Task[]> {
  const answer = await scene.call<{ Results: readonly Task[] }>(listMessageMoveTasks, '', fields)
  return answer.Results
}

/** A queue `q` whose messages have died in it and lie in `dead-q`. */
async function withDeadLetters(...bodies: readonly string[]): Promise<ActionScene> {
  const scene = await openScene()
  const queue = await scene.queueWithDeadLetters('q', 1, { visibilityMs: 0 })
  for (const body of bodies) await scene.send(queue, body)
  await scene.receive(queue, { MaxNumberOfMessages: 10 })
  assert.deepEqual(await scene.receive(queue, { MaxNumberOfMessages: 10 }), [])
  return scene
}

describe('a dead letter', () => {
  test('moves on the receive after the last, with its id, attributes and count, and names its source', async () => {
    const scene = await openScene()
    const queue = await scene.queueWithDeadLetters('q', 1, { visibilityMs: 0 })
    const trace = { DataType: 'String', StringValue: 'Root=1' }
    const mine = { MyAttribute: { DataType: 'String', StringValue: 'foobar' } }
    const sentAt = String(scene.clock.now())
    const { MessageId } = await scene.send(queue, 'message-1', {
      MessageAttributes: mine,
      MessageSystemAttributes: { AWSTraceHeader: trace },
    })
    await scene.clock.advance(second)
    const receivedAt = String(scene.clock.now())
    await scene.receiveOne(queue)
    assert.deepEqual(await scene.receive('dead-q'), [])
    assert.deepEqual(await scene.receive(queue), [])
    const fields = { AttributeNames: ['All'], MessageAttributeNames: ['All'] }
    const dead = await scene.receiveOne('dead-q', fields)
    assert.equal(dead.MessageId, MessageId)
    assert.deepEqual(dead.MessageAttributes, mine)
    assert.equal(dead.MD5OfMessageAttributes, 'adb59cd4678ea5a855436b949cd07ab6')
    assert.deepEqual(dead.Attributes, {
      SenderId: '000000000000',
      SentTimestamp: sentAt,
      ApproximateReceiveCount: '2',
      ApproximateFirstReceiveTimestamp: receivedAt,
      AWSTraceHeader: 'Root=1',
      DeadLetterQueueSourceArn: arn('q'),
    })
  })

  test('of a FIFO queue has its message id for a deduplication id', async () => {
    const scene = await openScene()
    const settings = { visibilityMs: 0, deduplicateByContent: true }
    const queue = await scene.queueWithDeadLetters('q.fifo', 1, settings)
    const { MessageId } = await scene.send(queue, 'x', { MessageGroupId: 'g' })
    await scene.receiveOne(queue)
    assert.deepEqual(await scene.receive(queue), [])
    const { Attributes = {} } = await scene.receiveOne('dead-q.fifo', { AttributeNames: ['All'] })
    assert.equal(Attributes['MessageDeduplicationId'], MessageId)
    assert.equal(Attributes['MessageGroupId'], 'g')
  })
})

describe('a move task', () => {
  test('moves dead letters back to where they died, oldest first, as new messages', async () => {
    const scene = await withDeadLetters('a', 'b')
    const [first] = await scene.receive('dead-q', { VisibilityTimeout: 0 })
    const startedAt = scene.clock.now()
    const { TaskHandle } = await start(scene, { SourceArn: arn('dead-q') })
    const handle = JSON.parse(Buffer.from(TaskHandle, 'base64').toString())
    assert.deepEqual(Object.keys(handle), ['taskId', 'sourceArn'])
    assert.equal(handle.sourceArn, arn('dead-q'))
    const task = {
      SourceArn: arn('dead-q'),
      ApproximateNumberOfMessagesToMove: 2,
      StartedTimestamp: startedAt,
    }
    assert.deepEqual(await tasks(scene, { SourceArn: arn('dead-q') }), [
      { ...task, TaskHandle, Status: 'RUNNING', ApproximateNumberOfMessagesMoved: 0 },
    ])
    await scene.backend.sweep()
    assert.deepEqual(await tasks(scene, { SourceArn: arn('dead-q') }), [
      { ...task, Status: 'COMPLETED', ApproximateNumberOfMessagesMoved: 2 },
    ])
    const fields = { MaxNumberOfMessages: 10, AttributeNames: ['All'] }
    const moved = await scene.receive('q', fields)
    assert.deepEqual(
      moved.map(({ Body, Attributes }) => [Body, Attributes?.['ApproximateReceiveCount']]),
      [
        ['a', '1'],
        ['b', '1'],
      ],
    )
    assert.notEqual(moved[0]?.MessageId, first?.MessageId)
    assert.equal('DeadLetterQueueSourceArn' in (moved[0]?.Attributes ?? {}), false)
  })

  test('moves to a queue of choice at a rate, and can be cancelled on the way', async () => {
    const scene = await withDeadLetters('a', 'b', 'c')
    await scene.queue('other')
    const source = { SourceArn: arn('dead-q') }
    const target = { DestinationArn: arn('other'), MaxNumberOfMessagesPerSecond: 1 }
    const { TaskHandle } = await start(scene, { ...source, ...target })
    await scene.backend.sweep()
    assert.deepEqual(await cancel(scene, TaskHandle), { ApproximateNumberOfMessagesMoved: 1 })
    const [cancelling] = await tasks(scene, source)
    assert.equal(cancelling?.Status, 'CANCELLING')
    assert.equal('TaskHandle' in (cancelling ?? {}), false)
    await scene.backend.sweep()
    assert.deepEqual(await tasks(scene, source), [
      {
        ...source,
        ...target,
        Status: 'CANCELLED',
        ApproximateNumberOfMessagesMoved: 1,
        ApproximateNumberOfMessagesToMove: 3,
        StartedTimestamp: cancelling?.StartedTimestamp,
      },
    ])
    assert.deepEqual(await scene.bodies('other'), ['a'])
    assert.deepEqual(await refusal(cancel(scene, TaskHandle)), {
      code: 'AWS.SimpleQueueService.UnsupportedOperation',
      message: 'Only active tasks can be cancelled.',
    })
  })

  test.each<[string, (scene: ActionScene) => Promise<Fields>, string]>([
    [
      'when its destination goes',
      async (scene) => {
        await scene.queue('other')
        return { SourceArn: arn('dead-q'), DestinationArn: arn('other') }
      },
      'AWS.SimpleQueueService.NonExistentQueue',
    ],
    [
      'when a message does not say where it died',
      async (scene) => {
        await scene.backend.purgeQueue({ queue: 'dead-q' })
        await scene.send('dead-q', 'sent here')
        await scene.queue('other')
        return { SourceArn: arn('dead-q') }
      },
      'CouldNotDetermineMessageSource',
    ],
  ])('fails %s, and says so', async (_what, prepare, reason) => {
    const scene = await withDeadLetters('a')
    await start(scene, await prepare(scene))
    await scene.backend.deleteQueue({ queue: 'other' })
    await scene.backend.sweep()
    const [task] = await tasks(scene, { SourceArn: arn('dead-q') })
    const { Status, FailureReason } = { FailureReason: undefined, ...task }
    assert.deepEqual([Status, FailureReason], ['FAILED', reason])
  })

  test('moves the others when a source queue was deleted, and fails then', async () => {
    const scene = await withDeadLetters('a')
    const { backend } = scene
    const deadLetter = { queue: 'dead-q', maxReceives: 1 }
    await backend.createQueue({ queue: 'kept', settings: { deadLetter, visibilityMs: 0 } })
    await scene.send('kept', 'b')
    await scene.receive('kept')
    await scene.receive('kept')
    await backend.deleteQueue({ queue: 'q' })
    await start(scene, { SourceArn: arn('dead-q') })
    await backend.sweep()
    const [task] = await tasks(scene, { SourceArn: arn('dead-q') })
    const { Status, FailureReason, ApproximateNumberOfMessagesMoved } = { ...task } as Fields
    assert.deepEqual(
      [Status, FailureReason, ApproximateNumberOfMessagesMoved],
      ['FAILED', 'AWS.SimpleQueueService.NonExistentQueue', 1],
    )
    assert.deepEqual(await scene.bodies('kept'), ['b'])
    assert.deepEqual(await scene.bodies('dead-q'), ['a'])
  })

  test('is listed with the latest first: one by default, ten at most', async () => {
    const scene = await withDeadLetters('a')
    const source = { SourceArn: arn('dead-q') }
    for (let count = 0; count < 12; count += 1) {
      await start(scene, source)
      await scene.backend.sweep()
      await scene.clock.advance(second)
    }
    assert.equal((await tasks(scene, source)).length, 1)
    const ten = await tasks(scene, { ...source, MaxResults: 10 })
    const times = ten.map(({ StartedTimestamp }) => StartedTimestamp)
    assert.equal(ten.length, 10)
    assert.deepEqual([...times].sort().reverse(), times)
    for (const MaxResults of [0, 11]) {
      const { code } = await refusal(tasks(scene, { ...source, MaxResults }))
      assert.equal(code, 'InvalidParameterValue')
    }
  })
})

describe('a move task is refused', () => {
  const missing = (parameter: string) => ({
    code: 'ResourceNotFoundException',
    message: `The resource that you specified for the ${parameter} parameter doesn't exist.`,
  })
  const format = (parameter: string) => ({
    code: 'InvalidParameterValue',
    message: `You must use this format to specify the ${parameter}: arn:<partition>:<service>:<region>:<account-id>:<resource-id>`,
  })
  const invalid = (message: string) => ({ code: 'InvalidParameterValue', message })
  const SourceArn = arn('dead-q')

  test.each<[string, Fields, { code: string; message: string }]>([
    [
      'without a source',
      {},
      { code: 'MissingParameter', message: 'The request must contain the parameter SourceArn.' },
    ],
    ['for a source that is no ARN', { SourceArn: '' }, format('SourceArn')],
    ['for a source that does not exist', { SourceArn: arn('missing') }, missing('SourceArn')],
    [
      'for a source that is nobody’s dead-letter queue',
      { SourceArn: arn('q') },
      invalid('Source queue must be configured as a Dead Letter Queue.'),
    ],
    [
      'for a destination that is no ARN',
      { SourceArn, DestinationArn: 'invalid' },
      format('DestinationArn'),
    ],
    [
      'for a destination that does not exist',
      { SourceArn, DestinationArn: arn('missing') },
      missing('DestinationArn'),
    ],
    [
      'for a destination that is the source',
      { SourceArn, DestinationArn: SourceArn },
      invalid('Source queue arn and destination queue arn cannot be the same.'),
    ],
    [
      'for a destination of the other type',
      { SourceArn, DestinationArn: arn('other.fifo') },
      invalid('The source queue and destination queue must be of the same queue type.'),
    ],
    [
      'at a rate of 0',
      { SourceArn, MaxNumberOfMessagesPerSecond: 0 },
      invalid(
        "Value for parameter MaxNumberOfMessagesPerSecond is invalid. Reason: You must enter a number that's between 1 and 500.",
      ),
    ],
    [
      'at a rate of 501',
      { SourceArn, MaxNumberOfMessagesPerSecond: 501 },
      invalid(
        "Value for parameter MaxNumberOfMessagesPerSecond is invalid. Reason: You must enter a number that's between 1 and 500.",
      ),
    ],
  ])('%s', async (_what, fields, expected) => {
    const scene = await withDeadLetters('a')
    await scene.queue('other.fifo')
    assert.deepEqual(await refusal(start(scene, fields)), expected)
  })

  test('while another one of its source runs', async () => {
    const scene = await withDeadLetters('a')
    await start(scene, { SourceArn })
    assert.deepEqual(
      await refusal(start(scene, { SourceArn })),
      invalid(
        'There is already a task running. Only one active task is allowed for a source queue arn at a given time.',
      ),
    )
  })

  test('for queues that are not the caller’s to name, whichever action names them', async () => {
    const scene = await withDeadLetters('a')
    const { TaskHandle } = await start(scene, { SourceArn })
    const denied = new SqsError('AccessDeniedException', 'not yours')
    const locate = (): never => {
      throw denied
    }
    for (const action of [startMessageMoveTask, listMessageMoveTasks, cancelMessageMoveTask]) {
      const call = scene.call(action, '', { SourceArn, TaskHandle }, { locate })
      assert.equal((await refusal(call)).code, 'AccessDenied')
    }
  })

  test('to be listed for a source that does not exist', async () => {
    const scene = await openScene()
    assert.deepEqual(await refusal(tasks(scene, { SourceArn: arn('x') })), missing('SourceArn'))
  })

  test('to be cancelled by a handle that is none', async () => {
    const scene = await withDeadLetters('a')
    const encoded = (value: unknown): string =>
      Buffer.from(JSON.stringify(value)).toString('base64')
    for (const handle of ['', 'foobared', encoded(null), encoded({ taskId: 1, sourceArn: '' })]) {
      const { message } = await refusal(cancel(scene, handle))
      assert.equal(message, 'Value for parameter TaskHandle is invalid.')
    }
  })

  test('to be cancelled when its source, or the task itself, is unknown', async () => {
    const scene = await withDeadLetters('a')
    const { TaskHandle } = await start(scene, { SourceArn })
    const { taskId } = JSON.parse(Buffer.from(TaskHandle, 'base64').toString())
    const handle = (task: unknown): string => Buffer.from(JSON.stringify(task)).toString('base64')
    assert.deepEqual(
      await refusal(cancel(scene, handle({ taskId, sourceArn: arn('missing') }))),
      missing('SourceArn'),
    )
    for (const task of [
      { taskId: 'unknown', sourceArn: SourceArn },
      { taskId, sourceArn: arn('q') },
    ]) {
      assert.deepEqual(await refusal(cancel(scene, handle(task))), {
        code: 'ResourceNotFoundException',
        message: 'Task does not exist.',
      })
    }
  })
})

/** Moving dead letters back. */
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { ListMessageMoveTasksResultEntry } from '@aws-sdk/client-sqs'
import { describe, test } from 'vitest'
import {
  assertRefused,
  attributesOf,
  clientKinds,
  groupFor,
  type NewQueue,
  newQueue,
  newQueueOf,
  type QueueKind,
  queueKinds,
  receive,
  receiveOne,
  seen,
  send,
  systemAttributes,
} from './queue-scene.ts'
import type { SqsClient } from './sqs-client.ts'
import { wireServer } from './wire-server.ts'

const server = wireServer('sqs-move-tasks')

interface Pair {
  readonly queue: NewQueue
  readonly dead: NewQueue
}

/** A queue whose messages are dead already. */
async function deadLetters(client: SqsClient, kind: QueueKind, count: number): Promise<Pair> {
  const dead = await newQueueOf(kind, client)
  const queue = await addSource(client, kind, dead, count)
  return { queue, dead }
}

async function addSource(
  client: SqsClient,
  kind: QueueKind,
  dead: NewQueue,
  count: number,
): Promise<NewQueue> {
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount: 1 })
  const queue = await newQueueOf(kind, client, { RedrivePolicy, VisibilityTimeout: '0' })
  for (let n = 0; n < count; n++) await send(client, queue, `message-${n}`, groupFor(kind))
  if (count > 0) assert.equal((await receive(client, queue)).length, count)
  assert.deepEqual(await receive(client, queue), [])
  return queue
}

/** The newest task of a queue, as soon as it has that status. */
async function taskWith(
  client: SqsClient,
  SourceArn: string,
  status: string,
): Promise<ListMessageMoveTasksResultEntry> {
  for (;;) {
    const { Results = [] } = await client.call('ListMessageMoveTasks', { SourceArn })
    const [task] = Results
    if (task?.Status === status) return task
    await pause(50)
  }
}

describe.concurrent.each(clientKinds)('move tasks, with $name', (kind) => {
  const open = () => server.client(kind)

  test.each(queueKinds)('dead letters of a %s queue go back', async (queueKind) => {
    const client = open()
    const { queue, dead } = await deadLetters(client, queueKind, 2)
    const before = await receive(client, dead, { VisibilityTimeout: 0 })
    const { TaskHandle = '' } = await client.call('StartMessageMoveTask', { SourceArn: dead.arn })
    const handle = JSON.parse(Buffer.from(TaskHandle, 'base64').toString())
    assert.deepEqual(Object.keys(handle).toSorted(), ['sourceArn', 'taskId'])
    assert.equal(handle.sourceArn, dead.arn)
    const { StartedTimestamp, ...task } = await taskWith(client, dead.arn, 'COMPLETED')
    assert.ok(Math.abs(Number(StartedTimestamp) - Date.now()) < 60_000)
    assert.deepEqual(task, {
      ApproximateNumberOfMessagesMoved: 2,
      ApproximateNumberOfMessagesToMove: 2,
      SourceArn: dead.arn,
      Status: 'COMPLETED',
    })
    await seen(client, queue, { ApproximateNumberOfMessages: '2' })
    const after = await receive(client, queue, systemAttributes(client))
    assert.deepEqual(
      after.map(({ Body, Attributes }) => [Body, Attributes?.ApproximateReceiveCount]),
      [
        ['message-0', '1'],
        ['message-1', '1'],
      ],
    )
    const ids = new Set([...before, ...after].map(({ MessageId }) => MessageId))
    assert.equal(ids.size, 4)
  })

  test('each goes back to its own source', async () => {
    const client = open()
    const { queue, dead } = await deadLetters(client, 'standard', 2)
    const other = await addSource(client, 'standard', dead, 1)
    await client.call('StartMessageMoveTask', { SourceArn: dead.arn })
    const task = await taskWith(client, dead.arn, 'COMPLETED')
    assert.equal(task.ApproximateNumberOfMessagesMoved, 3)
    assert.equal((await attributesOf(client, queue))['ApproximateNumberOfMessages'], '2')
    assert.equal((await attributesOf(client, other))['ApproximateNumberOfMessages'], '1')
  })

  test('a destination of one’s choice is shown with the task', async () => {
    const client = open()
    const { dead } = await deadLetters(client, 'standard', 2)
    const destination = await newQueue(client)
    const input = { SourceArn: dead.arn, DestinationArn: destination.arn }
    await client.call('StartMessageMoveTask', input)
    const task = await taskWith(client, dead.arn, 'COMPLETED')
    assert.equal(task.DestinationArn, destination.arn)
    assert.equal((await attributesOf(client, destination))['ApproximateNumberOfMessages'], '2')
  })

  test.each(queueKinds)('a task on a %s queue with a rate can be cancelled', async (queueKind) => {
    const client = open()
    const { queue, dead } = await deadLetters(client, queueKind, 10)
    const input = { SourceArn: dead.arn, MaxNumberOfMessagesPerSecond: 1 }
    const { TaskHandle } = await client.call('StartMessageMoveTask', input)
    const { ApproximateNumberOfMessagesMoved, StartedTimestamp, ...running } = await taskWith(
      client,
      dead.arn,
      'RUNNING',
    )
    assert.ok(Number(ApproximateNumberOfMessagesMoved) < 10)
    assert.ok(StartedTimestamp)
    assert.deepEqual(running, {
      ApproximateNumberOfMessagesToMove: 10,
      MaxNumberOfMessagesPerSecond: 1,
      SourceArn: dead.arn,
      Status: 'RUNNING',
      TaskHandle,
    })
    await assertRefused(client.call('StartMessageMoveTask', input), {
      code: 'InvalidParameterValue',
      message:
        'There is already a task running. Only one active task is allowed for a source queue arn at a given time.',
    })
    const cancelled = await client.call('CancelMessageMoveTask', { TaskHandle })
    assert.ok(Number(cancelled.ApproximateNumberOfMessagesMoved) < 10)
    const task = await taskWith(client, dead.arn, 'CANCELLED')
    assert.ok(!('TaskHandle' in task))
    const moved = (await attributesOf(client, queue))['ApproximateNumberOfMessages']
    assert.equal(moved, `${task.ApproximateNumberOfMessagesMoved}`)
  })

  test('a task fails when its destination goes', async () => {
    const client = open()
    const { dead } = await deadLetters(client, 'standard', 10)
    const destination = await newQueue(client)
    await client.call('StartMessageMoveTask', {
      SourceArn: dead.arn,
      DestinationArn: destination.arn,
      MaxNumberOfMessagesPerSecond: 1,
    })
    await client.call('DeleteQueue', { QueueUrl: destination.url })
    const task = await taskWith(client, dead.arn, 'FAILED')
    assert.equal(task.FailureReason, 'AWS.SimpleQueueService.NonExistentQueue')
    assert.ok(!('TaskHandle' in task))
  })

  test('one task is listed unless more are asked for, the newest first', async () => {
    const client = open()
    const { queue, dead } = await deadLetters(client, 'standard', 1)
    await client.call('StartMessageMoveTask', { SourceArn: dead.arn })
    await taskWith(client, dead.arn, 'COMPLETED')
    await receiveOne(client, queue)
    assert.deepEqual(await receive(client, queue), [])
    await client.call('StartMessageMoveTask', { SourceArn: dead.arn })
    const newest = await taskWith(client, dead.arn, 'COMPLETED')
    const input = { SourceArn: dead.arn, MaxResults: 10 }
    const { Results = [] } = await client.call('ListMessageMoveTasks', input)
    assert.equal(Results.length, 2)
    assert.deepEqual(Results[0], newest)
    await assertRefused(client.call('ListMessageMoveTasks', { ...input, MaxResults: 11 }), {
      code: 'InvalidParameterValue',
    })
  })

  test('the source must be there and be a dead-letter queue', async () => {
    const client = open()
    const { arn } = await newQueue(client)
    await assertRefused(client.call('StartMessageMoveTask', { SourceArn: arn }), {
      code: 'InvalidParameterValue',
      message: 'Source queue must be configured as a Dead Letter Queue.',
    })
    const missing = {
      code: 'ResourceNotFoundException',
      status: 404,
      message: "The resource that you specified for the SourceArn parameter doesn't exist.",
    }
    const SourceArn = `${arn}-missing`
    await assertRefused(client.call('StartMessageMoveTask', { SourceArn }), missing)
    await assertRefused(client.call('ListMessageMoveTasks', { SourceArn }), missing)
  })

  test('the destination must be there, and the rate between 1 and 500', async () => {
    const client = open()
    const { dead } = await deadLetters(client, 'standard', 0)
    const SourceArn = dead.arn
    const DestinationArn = `${dead.arn}-missing`
    await assertRefused(client.call('StartMessageMoveTask', { SourceArn, DestinationArn }), {
      code: 'ResourceNotFoundException',
      status: 404,
      message: "The resource that you specified for the DestinationArn parameter doesn't exist.",
    })
    for (const MaxNumberOfMessagesPerSecond of [0, 501]) {
      const input = { SourceArn, MaxNumberOfMessagesPerSecond }
      await assertRefused(client.call('StartMessageMoveTask', input), {
        code: 'InvalidParameterValue',
      })
    }
  })

  test('cancelling needs the handle of a task that runs', async () => {
    const client = open()
    const { dead } = await deadLetters(client, 'standard', 0)
    const cancel = (handle: string) => client.call('CancelMessageMoveTask', { TaskHandle: handle })
    const taskOf = (handle: object) => Buffer.from(JSON.stringify(handle)).toString('base64')
    await assertRefused(cancel('foobared'), {
      code: 'InvalidParameterValue',
      message: 'Value for parameter TaskHandle is invalid.',
    })
    const taskId = '10f6bb1c-2d1d-4e6c-9c6b-1f0c9c6b1f0c'
    await assertRefused(cancel(taskOf({ taskId, sourceArn: `${dead.arn}-missing` })), {
      code: 'ResourceNotFoundException',
      status: 404,
      message: "The resource that you specified for the SourceArn parameter doesn't exist.",
    })
    await assertRefused(cancel(taskOf({ taskId, sourceArn: dead.arn })), {
      code: 'ResourceNotFoundException',
      status: 404,
      message: 'Task does not exist.',
    })
  })
})

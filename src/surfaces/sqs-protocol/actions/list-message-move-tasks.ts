/** ListMessageMoveTasks: returns the progress of the latest move tasks of a dead-letter queue. */
import type { MoveTask, MoveTaskFailure } from '../../../backends/backend.ts'
import { addressOf, formatArn } from '../../../sqs/queue-address.ts'
import { type Action, action, type WireSettings } from '../action.ts'
import { formatTaskHandle, queueByArn } from '../messages/move-tasks.ts'
import { invalidParameter } from '../refusals.ts'
import { integer, listOf, structure, text, type ValueOf } from '../shapes.ts'

const entry = structure({
  TaskHandle: text,
  Status: text,
  SourceArn: text,
  DestinationArn: text,
  MaxNumberOfMessagesPerSecond: integer,
  ApproximateNumberOfMessagesMoved: integer,
  ApproximateNumberOfMessagesToMove: integer,
  FailureReason: text,
  StartedTimestamp: integer,
})

const resultsMax = 10

export const listMessageMoveTasks: Action = action({
  name: 'ListMessageMoveTasks',
  input: structure({ SourceArn: text, MaxResults: integer }),
  output: structure({ Results: listOf('ListMessageMoveTasksResultEntry', entry) }),
  onQueue: false,
  async run(context, { SourceArn, MaxResults: limit = 1 }) {
    const { name: source } = await queueByArn(context, 'SourceArn', SourceArn)
    if (limit < 1 || limit > resultsMax) {
      throw invalidParameter(
        `Value for parameter MaxResults is invalid. Reason: You must enter a number that's between 1 and ${resultsMax}.`,
      )
    }
    const tasks = await context.store.listMoveTasks({ source, limit })
    return { Results: tasks.map((task) => entryOf(task, context.settings)) }
  },
})

const failureReasons: Readonly<Record<MoveTaskFailure, string>> = {
  queue_not_found: 'AWS.SimpleQueueService.NonExistentQueue',
  origin_unknown: 'CouldNotDetermineMessageSource',
}

function entryOf(task: MoveTask, { home }: WireSettings): ValueOf<typeof entry> {
  const sourceArn = formatArn(addressOf(task.source, home))
  return {
    // The handle is only used to cancel, and only a running task can be cancelled.
    TaskHandle:
      task.status === 'running' ? formatTaskHandle({ taskId: task.id, sourceArn }) : undefined,
    Status: task.status.toUpperCase(),
    SourceArn: sourceArn,
    DestinationArn:
      task.destination === null ? undefined : formatArn(addressOf(task.destination, home)),
    MaxNumberOfMessagesPerSecond: task.movesPerSecond ?? undefined,
    ApproximateNumberOfMessagesMoved: task.moved,
    ApproximateNumberOfMessagesToMove: task.toMove,
    FailureReason: task.failure === null ? undefined : failureReasons[task.failure],
    StartedTimestamp: task.startedAt,
  }
}

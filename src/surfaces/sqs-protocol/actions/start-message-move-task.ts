/** StartMessageMoveTask: moves dead letters back to their source queues, or to another queue. */
import { limits } from '../../../core/limits.ts'
import { isRefused } from '../../../core/millrace-error.ts'
import { addressOf, formatArn } from '../../../sqs/queue-address.ts'
import { type Action, action } from '../action.ts'
import { formatTaskHandle, queueByArn } from '../messages/move-tasks.ts'
import { invalidParameter } from '../refusals.ts'
import { integer, structure, text } from '../shapes.ts'

export const startMessageMoveTask: Action = action({
  name: 'StartMessageMoveTask',
  input: structure({
    SourceArn: text,
    DestinationArn: text,
    MaxNumberOfMessagesPerSecond: integer,
  }),
  output: structure({ TaskHandle: text }),
  onQueue: false,
  async run(context, { SourceArn, DestinationArn, MaxNumberOfMessagesPerSecond: rate }) {
    const source = await queueByArn(context, 'SourceArn', SourceArn)
    const destination =
      DestinationArn === undefined
        ? undefined
        : await queueByArn(context, 'DestinationArn', DestinationArn)
    if (destination?.name === source.name) {
      throw invalidParameter('Source queue arn and destination queue arn cannot be the same.')
    }
    if (destination !== undefined && destination.settings.type !== source.settings.type) {
      throw invalidParameter(
        'The source queue and destination queue must be of the same queue type.',
      )
    }
    checkRate(rate)
    const request = {
      source: source.name,
      ...(destination !== undefined && { destination: destination.name }),
      ...(rate !== undefined && { movesPerSecond: rate }),
    }
    const { id: taskId } = await context.store.startMoveTask(request).catch(refuseStart)
    const sourceArn = formatArn(addressOf(source.name, context.settings.home))
    return { TaskHandle: formatTaskHandle({ taskId, sourceArn }) }
  },
})

function checkRate(rate: number | undefined): void {
  const { min, max } = limits.movesPerSecond
  if (rate === undefined || (rate >= min && rate <= max)) return
  throw invalidParameter(
    `Value for parameter MaxNumberOfMessagesPerSecond is invalid. Reason: You must enter a number that's between ${min} and ${max}.`,
  )
}

function refuseStart(error: unknown): never {
  if (isRefused(error, 'not_a_dead_letter_queue')) {
    throw invalidParameter('Source queue must be configured as a Dead Letter Queue.')
  }
  if (isRefused(error, 'move_task_running')) {
    throw invalidParameter(
      'There is already a task running. Only one active task is allowed for a source queue arn at a given time.',
    )
  }
  throw error
}

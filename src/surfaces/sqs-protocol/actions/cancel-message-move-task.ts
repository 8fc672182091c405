/** CancelMessageMoveTask: stops a move task. Moved messages are not moved back. */
import { isRefused } from '../../../core/millrace-error.ts'
import { type Action, action } from '../action.ts'
import { notFound, parseTaskHandle, queueByArn } from '../messages/move-tasks.ts'
import { missingParameter } from '../refusals.ts'
import { integer, structure, text } from '../shapes.ts'
import { SqsError } from '../sqs-error.ts'

export const cancelMessageMoveTask: Action = action({
  name: 'CancelMessageMoveTask',
  input: structure({ TaskHandle: text }),
  output: structure({ ApproximateNumberOfMessagesMoved: integer }),
  onQueue: false,
  async run(context, { TaskHandle }) {
    if (TaskHandle === undefined) throw missingParameter('TaskHandle')
    const { taskId, sourceArn } = parseTaskHandle(TaskHandle)
    const { name: source } = await queueByArn(context, 'SourceArn', sourceArn)
    const [latest] = await context.store.listMoveTasks({ source, limit: 1 })
    // Only the latest task of a source can be running.
    if (latest?.id !== taskId) throw notFound('Task does not exist.')
    const { moved } = await context.store.cancelMoveTask({ id: taskId }).catch(refuseCancel)
    return { ApproximateNumberOfMessagesMoved: moved }
  },
})

function refuseCancel(error: unknown): never {
  throw isRefused(error, 'move_task_not_found')
    ? new SqsError('UnsupportedOperation', 'Only active tasks can be cancelled.')
    : error
}

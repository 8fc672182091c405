/** Move tasks in terms of SQS: queues by ARN, and a task by a handle that contains its source. */
import type { QueueRecord } from '../../../backends/backend.ts'
import { isRefused } from '../../../core/millrace-error.ts'
import { parseArn } from '../../../sqs/queue-address.ts'
import type { ActionContext } from '../action.ts'
import { decodeBase64 } from '../base64.ts'
import { invalidParameter, missingParameter } from '../refusals.ts'
import { SqsError } from '../sqs-error.ts'

type ArnParameter = 'SourceArn' | 'DestinationArn'

/** Finds the queue of a parameter. */
export async function queueByArn(
  context: ActionContext,
  parameter: ArnParameter,
  arn: string | undefined,
): Promise<QueueRecord> {
  if (arn === undefined) throw missingParameter(parameter)
  const address = parseArn(arn)
  if (address === undefined) {
    throw invalidParameter(
      `You must use this format to specify the ${parameter}: arn:<partition>:<service>:<region>:<account-id>:<resource-id>`,
    )
  }
  try {
    return await context.store.readQueue({ queue: context.locate(address).name })
  } catch (error) {
    throw isRefused(error, 'queue_not_found') ? notFound(describeMissing(parameter)) : error
  }
}

export interface TaskHandle {
  readonly taskId: string
  readonly sourceArn: string
}

export function formatTaskHandle({ taskId, sourceArn }: TaskHandle): string {
  return Buffer.from(JSON.stringify({ taskId, sourceArn })).toString('base64')
}

export function parseTaskHandle(text: string): TaskHandle {
  const bytes = decodeBase64(text)
  const handle = bytes === undefined ? undefined : parseJson(Buffer.from(bytes).toString())
  if (
    typeof handle === 'object' &&
    handle !== null &&
    'taskId' in handle &&
    'sourceArn' in handle
  ) {
    const { taskId, sourceArn } = handle
    if (typeof taskId === 'string' && typeof sourceArn === 'string') return { taskId, sourceArn }
  }
  throw invalidParameter('Value for parameter TaskHandle is invalid.')
}

export function notFound(message: string): SqsError {
  return new SqsError('ResourceNotFoundException', message)
}

function describeMissing(parameter: ArnParameter): string {
  return `The resource that you specified for the ${parameter} parameter doesn't exist.`
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

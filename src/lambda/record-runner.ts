/** Runs single records of a batch: with a store or without. */
import type { App } from '../contracts/define-app.ts'
import { hiddenPathsOf } from '../contracts/hidden-paths.ts'
import { isJobsQueue } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue } from '../contracts/queue-declaration.ts'
import { defaultStage } from '../contracts/resolve-names.ts'
import { type PlannedSettings, resolveQueues } from '../contracts/resolve-queues.ts'
import { errorSummary } from '../core/error-summary.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { receivedJobAttributes } from '../sqs/job-attributes.ts'
import { hiddenInBody } from '../worker/hidden-values.ts'
import { type FailedRecord, printFailure } from './failed-record.ts'
import type { LambdaContext, SqsBatchRecord } from './sqs-batch.ts'

export interface RecordRunner {
  begin(records: readonly SqsBatchRecord[], lambda: LambdaContext): Promise<RunningBatch>
}

export interface RunningBatch {
  /** Resolves with whether the record is done and may be deleted. */
  run(record: SqsBatchRecord): Promise<boolean>
  /** Called for a record that is not run. It is delivered again. */
  skip(record: SqsBatchRecord): Promise<void>
  /** Asks running handlers to stop. */
  stop(): void
  /** Stops waiting for handlers that ignore it. */
  abandon(): void
}

export type Failure = Pick<FailedRecord, 'why' | 'error'>

/** The queue of a function, as the app declares it. */
export interface FunctionQueue {
  readonly app: App
  readonly key: string
  readonly declared: DeclaredQueue
  readonly settings: PlannedSettings
  /** @param message the output of the schema, if the record could be read */
  readonly report: (record: SqsBatchRecord, failure: Failure, message?: unknown) => void
}

export function functionQueue(
  app: App,
  key: string,
  onFailure: ((failure: FailedRecord) => void) | undefined,
): FunctionQueue {
  // The settings that matter here are the same in all stages.
  const { queues, planned } = resolveQueues(app, defaultStage)
  const named = queues.find((queue) => queue.key === key)
  const settings = planned.find(({ queue }) => queue === named?.name)?.settings
  if (named === undefined || settings === undefined) throw new MillraceError('queue_not_found')
  const { declared } = named
  const report: FunctionQueue['report'] = (record, { why, error }, message) => {
    const type = isJobsQueue(declared) ? jobTypeIn(record) : undefined
    const hide = hiddenInBody(record.body, message, hiddenPathsOf(declared, type))
    const failure = {
      queue: key,
      messageId: record.messageId,
      type: type ?? null,
      attempt: attemptOf(record),
      why,
      error,
      summary: errorSummary(error, hide),
    }
    if (onFailure === undefined) printFailure(failure, hide)
    else onFailure(failure)
  }
  return { app, key, declared, settings, report }
}

/** The job type in the attributes of a message. */
export function jobTypeIn(record: SqsBatchRecord): string | undefined {
  return textAttribute(record, receivedJobAttributes.type)
}

export function textAttribute(
  { messageAttributes }: SqsBatchRecord,
  name: string,
): string | undefined {
  return messageAttributes[name]?.stringValue
}

/** A job counts its own attempts, because releases do not count. */
export function attemptOf(record: SqsBatchRecord): number {
  const attempt = textAttribute(record, receivedJobAttributes.attempt)
  return Number(attempt ?? record.attributes.ApproximateReceiveCount)
}

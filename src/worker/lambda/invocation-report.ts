/** The report about an invocation after its messages are settled, for the caller and the log. */
import { errorSummary } from '../../core/error-summary.ts'
import type { Logger } from '../../observability/logger.ts'
import type { BatchReport } from './event-source-poller.ts'
import { billedMs } from './invocation-log.ts'
import type { LambdaError } from './lambda-error.ts'
import type { LambdaEventSource } from './lambda-set.ts'

export interface InvocationReport {
  readonly function: string
  readonly queue: string
  readonly requestId: string
  readonly status: 'succeeded' | 'failed' | 'timed_out'
  readonly durationMs: number
  readonly billedMs: number
  /** How long the start of a new environment took; null if a warm one was used. */
  readonly initMs: number | null
  readonly memoryUsedMb: number
  readonly error: LambdaError | null
  /** Messages of the batch. */
  readonly records: number
  readonly acknowledged: number
  /** Messages that are delivered again when their visibility timeout ends. */
  readonly left: number
  /** Messages that were handled, but whose lease had expired. They are delivered again. */
  readonly lost: number
  /** Why a response about single messages could not be used, so that all of them are delivered again. */
  readonly problem: string | null
}

export function invocationReport(
  { queue, function: name }: LambdaEventSource,
  { invocation, ...messages }: BatchReport,
): InvocationReport {
  const { requestId, status, durationMs, initMs, memoryUsedMb, error } = invocation
  return {
    function: name,
    queue,
    requestId,
    status,
    durationMs,
    billedMs: billedMs(invocation),
    initMs,
    memoryUsedMb,
    error,
    ...messages,
  }
}

export function logInvocation(log: Logger, report: InvocationReport): void {
  const { status, error, problem, left, lost } = report
  const isClean = status === 'succeeded' && left + lost === 0
  log[isClean ? 'info' : 'warn'](
    {
      function: report.function,
      queue: report.queue,
      request_id: report.requestId,
      outcome: status,
      duration_ms: Math.round(report.durationMs * 10) / 10,
      records: report.records,
      acknowledged: report.acknowledged,
      ...(left > 0 && { left }),
      ...(lost > 0 && { lost }),
      ...(error !== null && {
        error: errorSummary(`${error.errorType}: ${error.errorMessage}`),
      }),
      ...(problem !== null && { problem }),
    },
    `function ${status === 'timed_out' ? 'timed out' : status}`,
  )
}

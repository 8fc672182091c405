/**
 * Runs work at most once per job row. If the job is already completed, a redelivered message gets the stored
 * result. If another worker is processing it, the message is acknowledged without work.
 */
import { AbortReason, type HandlerContext } from 'millrace'
import { shortId } from './print.ts'
import type { JobRecord, LeaseHolder, Records } from './records.ts'

/** The part of the handler's context that is used here. */
export type Attempt = Pick<HandlerContext, 'id' | 'token' | 'attempt' | 'maxAttempts' | 'signal'>

export interface RecordedWork<Result> {
  readonly records: Records
  readonly job: Pick<JobRecord, 'jobId' | 'jobType'>
  readonly context: Attempt
  readonly print: (line: string) => void
  readonly run: () => Promise<Result>
  /** Describes the result in a few words. */
  readonly describe: (result: Result) => string
}

/** The result of this run or an earlier one; null if another worker is still processing. */
export async function withRecord<Result>(work: RecordedWork<Result>): Promise<unknown> {
  const { records, job, context, print, run, describe } = work
  const name = `${job.jobType} ${shortId(job.jobId)}`
  const holder: LeaseHolder = { messageId: context.id, token: context.token }
  if (!records.begin(job, holder)) {
    const record = records.get(job.jobId)
    print(`${name} skipped: it is already ${record?.status}`)
    return record?.result ?? null
  }
  try {
    print(`${name} attempt ${context.attempt}`)
    const result = await run()
    if (!records.complete(job.jobId, holder, result)) {
      throw new Error('Another worker has taken over the job.')
    }
    print(`${name} COMPLETED: ${describe(result)}`)
    return result
  } catch (error) {
    const end = endOf(context, error)
    if (records.recordFailure(job.jobId, holder, end)) print(`${name} ${end.status}: ${end.error}`)
    throw error
  }
}

type End = Parameters<Records['recordFailure']>[2]

/** PENDING if the message will be retried, otherwise FAILED. */
function endOf({ attempt, maxAttempts, signal }: Attempt, error: unknown): End {
  const text = error instanceof Error ? error.message : 'unknown error'
  const kind = signal.reason instanceof AbortReason ? signal.reason.kind : undefined
  const isLast =
    kind === 'cancelled' ||
    (kind !== 'shutdown' && kind !== 'lease_lost' && attempt >= (maxAttempts ?? Infinity))
  return { status: isLast ? 'FAILED' : 'PENDING', error: text }
}

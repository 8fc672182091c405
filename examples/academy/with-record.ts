/**
 * Runs a piece of work at most once per job row: a message that comes again after its job was done is
 * answered with the result of then, and one whose job somebody else is working on is let go.
 */
import { AbortReason, type HandlerContext } from 'millrace'
import { shortId } from './print.ts'
import type { Holder, JobRecord, Records } from './records.ts'

/** What is needed of a handler's context. */
export type Attempt = Pick<HandlerContext, 'id' | 'token' | 'attempt' | 'maxAttempts' | 'signal'>

export interface RecordedWork<Result> {
  readonly records: Records
  readonly job: Pick<JobRecord, 'jobId' | 'jobType'>
  readonly context: Attempt
  readonly print: (line: string) => void
  readonly run: () => Promise<Result>
  /** The result in a few words. */
  readonly describe: (result: Result) => string
}

/** The result, of this run or of an earlier one; null when it is not there yet. */
export async function withRecord<Result>(work: RecordedWork<Result>): Promise<unknown> {
  const { records, job, context, print, run, describe } = work
  const name = `${job.jobType} ${shortId(job.jobId)}`
  const holder: Holder = { messageId: context.id, token: context.token }
  if (!records.begin(job, holder)) {
    const record = records.get(job.jobId)
    print(`${name} skipped: it is ${record?.status} already`)
    return record?.result ?? null
  }
  try {
    print(`${name} attempt ${context.attempt}`)
    const result = await run()
    if (!records.complete(job.jobId, holder, result)) {
      throw new Error('Another worker has taken the job over.')
    }
    print(`${name} COMPLETED: ${describe(result)}`)
    return result
  } catch (error) {
    const end = endOf(context, error)
    if (records.giveUp(job.jobId, holder, end)) print(`${name} ${end.status}: ${end.error}`)
    throw error
  }
}

type End = Parameters<Records['giveUp']>[2]

/** Whether the message comes again, or this was the end. */
function endOf({ attempt, maxAttempts, signal }: Attempt, error: unknown): End {
  const text = error instanceof Error ? error.message : 'unknown error'
  const kind = signal.reason instanceof AbortReason ? signal.reason.kind : undefined
  const isLast =
    kind === 'cancelled' ||
    (kind !== 'shutdown' && kind !== 'lease_lost' && attempt >= (maxAttempts ?? Infinity))
  return { status: isLast ? 'FAILED' : 'PENDING', error: text }
}

/** A job as its readers see it: what was stored as JSON text is a value again. */
import type { JobRecord } from '../backends/job-store.ts'
import { type FinishedJobStatus, isFinished } from '../core/job-state.ts'

export interface Job extends Omit<JobRecord, 'payload' | 'result'> {
  /** As it was enqueued, before the schema of its type changed anything. */
  readonly payload: unknown
  /** Null until the job has completed, and when it completed without a result. */
  readonly result: unknown
}

export interface FinishedJob extends Job {
  readonly status: FinishedJobStatus
}

export function jobFrom(record: JobRecord): Job {
  const { payload, result } = record
  return { ...record, payload: parsed(payload), result: result === null ? null : parsed(result) }
}

export function isFinishedJob(job: Job): job is FinishedJob {
  return isFinished(job.status)
}

/** Other programs write to the store as well; a text of theirs that is no JSON stays a text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

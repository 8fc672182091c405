/** A job as callers read it: JSON text from the store is parsed. */
import type { JobRecord } from '../backends/job-store.ts'
import { type FinishedJobStatus, isFinished } from '../core/job-state.ts'

export interface Job extends Omit<JobRecord, 'payload' | 'result'> {
  /** The payload as it was enqueued, before the schema transformed it. */
  readonly payload: unknown
  /** Null until the job has completed, or if it completed without a result. */
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

/** Other programs may write to the store too. Text that is not JSON stays text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

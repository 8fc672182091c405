/** Jobs, their attempts and their log lines as all surfaces show them. Field names are API. */
import type { Spent } from '../backends/budget-store.ts'
import type { JobAttempt, JobLogLine, JobRecord } from '../backends/job-store.ts'
import type { Failure } from '../core/failure.ts'
import { isoTime } from '../core/iso-time.ts'
import { type LabelsView, labelsView } from '../core/job-labels.ts'

export interface JobStateView
  extends Readonly<Record<'id' | 'job_type' | 'status' | 'created_at' | 'updated_at', string>> {
  readonly progress: number
  readonly attempts_made: number
  readonly max_attempts: number
  readonly retry_of: string | null
  readonly started_at: string | null
  readonly finished_at: string | null
  readonly run_at: string | null
  readonly expires_at: string | null
}

/** What the owner of a job may see too. */
export function jobStateView(job: Omit<JobRecord, 'payload' | 'result'>): JobStateView {
  return {
    id: job.id,
    job_type: job.type,
    status: job.status,
    progress: job.progress,
    attempts_made: job.attemptsMade,
    max_attempts: job.maxAttempts,
    retry_of: job.retryOf,
    created_at: isoTime(job.createdAt),
    started_at: isoTime(job.startedAt),
    finished_at: isoTime(job.finishedAt),
    run_at: isoTime(job.runAt),
    expires_at: isoTime(job.expiresAt),
    updated_at: isoTime(job.updatedAt),
  }
}

export interface JobInsideView extends LabelsView {
  readonly queue_name: string
  readonly backend_id: string
  readonly owner: string | null
  readonly tenant: string | null
  readonly idempotency_key: string | null
  /** What all its attempts have spent, by budget. */
  readonly spent: Spent
}

/** Where and for whom it runs, for operators. */
export function jobInsideView(job: Omit<JobRecord, 'payload' | 'result'>): JobInsideView {
  return {
    queue_name: job.queue,
    backend_id: job.backendId,
    owner: job.owner,
    tenant: job.tenant,
    ...labelsView(job),
    idempotency_key: job.idempotencyKey,
    spent: job.spent,
  }
}

export interface AttemptView {
  readonly attempt: number
  readonly outcome: JobAttempt['outcome']
  readonly error_message: string | null
  readonly started_at: string
  readonly ended_at: string | null
  readonly failure: Failure | null
}

export function attemptView(shown: JobAttempt): AttemptView {
  const { attempt, outcome, error, failure } = shown
  const started_at = isoTime(shown.startedAt)
  const ended_at = isoTime(shown.endedAt)
  return { attempt, outcome, error_message: error, started_at, ended_at, failure }
}

export interface LogLineView extends Omit<JobLogLine, 'at'> {
  readonly at: string
}

export function logLineView({ attempt, at, level, message, fields }: JobLogLine): LogLineView {
  return { attempt, at: isoTime(at), level, message, fields }
}

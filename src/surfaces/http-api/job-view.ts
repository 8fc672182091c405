/**
 * A job as the API returns it. Users see the state of their job. Trusted callers also see its queue and why
 * it failed, and admins its payload.
 */
import type { JobAttempt } from '../../backends/job-store.ts'
import { hiddenPathsOf } from '../../contracts/hidden-paths.ts'
import { isoTime } from '../../core/iso-time.ts'
import { labelsView } from '../../core/job-labels.ts'
import type { Job } from '../../jobs/job.ts'
import { maskPayload } from '../../operations/mask-payload.ts'
import { type Caller, isTrusted } from './caller.ts'
import type { JobsContext } from './jobs-context.ts'

export type View = Readonly<Record<string, unknown>>

/** Lists and events leave out the payload; lists also leave out the result. */
export type ViewKind = 'whole' | 'event' | 'row'

const failureForUsers = 'The job could not be completed.'
const attemptFailureForUsers = 'The attempt could not be completed.'

export function jobView(
  context: JobsContext,
  caller: Caller,
  job: Job,
  kind: ViewKind = 'whole',
): View {
  const { role } = caller
  return {
    ...commonView(job),
    ...(kind !== 'row' && { result: job.result }),
    error_message: isTrusted(caller) ? job.error : neutral(job),
    ...(isTrusted(caller) && inside(job)),
    ...(role === 'admin' && kind === 'whole' && { payload: payloadView(context, job) }),
  }
}

function commonView(job: Job): View {
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

function inside(job: Job): View {
  return {
    queue_name: job.queue,
    backend_id: job.backendId,
    owner: job.owner,
    tenant: job.tenant,
    ...labelsView(job),
    idempotency_key: job.idempotencyKey,
  }
}

function neutral({ status }: Job): string | null {
  return status === 'failed' ? failureForUsers : null
}

export function attemptView(caller: Caller, attempt: JobAttempt): View {
  const { outcome, error } = attempt
  const hasFailed = outcome === 'retried' || outcome === 'lapsed' || outcome === 'failed'
  return {
    attempt: attempt.attempt,
    outcome,
    error_message: isTrusted(caller) ? error : hasFailed ? attemptFailureForUsers : null,
    started_at: isoTime(attempt.startedAt),
    ended_at: isoTime(attempt.endedAt),
  }
}

function payloadView({ queues }: JobsContext, { queue, type, payload }: Job): unknown {
  const declared = queues.find(({ name }) => name === queue)?.declared
  return declared === undefined ? null : maskPayload(payload, hiddenPathsOf(declared, type))
}

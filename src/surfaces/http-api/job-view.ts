/**
 * A job as the API returns it. Users see the state of their job. Trusted callers also see its queue and why
 * it failed, and admins its payload.
 */
import type { JobAttempt } from '../../backends/job-store.ts'
import { hiddenPathsOf } from '../../contracts/hidden-paths.ts'
import type { Job } from '../../jobs/job.ts'
import { attemptView, jobInsideView, jobStateView } from '../../operations/job-view.ts'
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
    ...jobStateView(job),
    ...(kind !== 'row' && { result: job.result }),
    error_message: isTrusted(caller) ? job.error : neutral(job),
    ...(isTrusted(caller) && jobInsideView(job)),
    ...(role === 'admin' && kind === 'whole' && { payload: payloadView(context, job) }),
  }
}

function neutral({ status }: Job): string | null {
  return status === 'failed' ? failureForUsers : null
}

/** Only trusted callers see errors and stacks. */
export function attemptViewFor(caller: Caller, attempt: JobAttempt): View {
  const { failure, ...view } = attemptView(attempt)
  if (isTrusted(caller)) return { ...view, failure }
  const { outcome } = attempt
  const hasFailed = outcome === 'retried' || outcome === 'lapsed' || outcome === 'failed'
  return { ...view, error_message: hasFailed ? attemptFailureForUsers : null }
}

function payloadView({ queues }: JobsContext, { queue, type, payload }: Job): unknown {
  const declared = queues.find(({ name }) => name === queue)?.declared
  return declared === undefined ? null : maskPayload(payload, hiddenPathsOf(declared, type))
}

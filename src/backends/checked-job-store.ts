/** Checks every argument about jobs before a store sees it, as checked-backend.ts does for messages. */
import { checkLength, checkRange, describeGiven, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { JobStore, NewJob } from './job-store.ts'

export function checkedJobStore(store: JobStore): JobStore {
  return {
    enqueue: async (request) => {
      check((into) => {
        checkRange(into, 'jobs: count', request.jobs.length, limits.messagesPerCall)
        for (const job of request.jobs) checkJob(into, job)
      })
      return store.enqueue(request)
    },
    read: (request) => store.read(request),
    list: async (request) => {
      check((into) => checkRange(into, 'limit', request.limit, limits.pageSize))
      return store.list(request)
    },
    cancel: (request) => store.cancel(request),
    retry: (request) => store.retry(request),
    attempts: (request) => store.attempts(request),
    reportProgress: async (request) => {
      const { progress } = request
      check((into) => {
        if (typeof progress === 'number' && progress >= 0 && progress <= 1) return
        into.push({ field: 'progress', given: describeGiven(progress), allowed: 'from 0 to 1' })
      })
      return store.reportProgress(request)
    },
  }
}

function check(run: (into: Violations) => void): void {
  const violations: Violations = []
  run(violations)
  if (violations.length > 0) throw MillraceError.invalid(violations)
}

function checkJob(into: Violations, job: NewJob): void {
  const { type, maxAttempts, owner, idempotency } = job
  checkLength(into, 'type', type, limits.jobTypeLength)
  checkRange(into, 'maxAttempts', maxAttempts, limits.jobAttempts)
  if (owner !== undefined) checkLength(into, 'owner', owner, limits.ownerLength)
  if (idempotency === undefined) return
  checkLength(into, 'idempotency.key', idempotency.key, limits.idempotencyKeyLength)
  checkRange(into, 'idempotency.lifetimeMs', idempotency.lifetimeMs, limits.idempotencyMs)
}

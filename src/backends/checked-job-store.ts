/** Checks of arguments about jobs. */
import { checkBackoffPolicy } from '../core/backoff.ts'
import { checkSwitchNames } from '../core/check-queue-controls.ts'
import {
  checkNumber,
  checkOneOf,
  checkRange,
  checkStringRecord,
  checkText,
  describeGiven,
  type Violations,
} from '../core/checks.ts'
import { checkJobLabels } from '../core/job-labels.ts'
import { limits } from '../core/limits.ts'
import { checkLogs } from './attempt-checks.ts'
import { checkSpendings } from './budget-checks.ts'
import { type Checks, check, checkedStore, checkPage, refusal } from './checking.ts'
import type { EnqueueJobs, JobStore, NewJob, RescheduleJob } from './job-store.ts'

export function checkedJobStore(store: JobStore): JobStore {
  return {
    ...checkedStore<CheckedCalls>(store, jobChecks),
    // Every job passes here, and an async function costs three turns of the microtask queue.
    enqueue: (request) => {
      const error = refusal((into) => checkJobs(into, request))
      return error === undefined ? store.enqueue(request) : Promise.reject(error)
    },
    enqueueWithin: (request) => {
      check((into) => checkJobs(into, request))
      return store.enqueueWithin(request)
    },
  }
}

type CheckedCalls = Omit<JobStore, 'enqueue' | 'enqueueWithin'>

const jobChecks: Checks<CheckedCalls> = {
  read: checkJobId,
  list: checkPage,
  cancel: checkJobId,
  retry: (into, request) => {
    checkJobId(into, request)
    checkSystemAttributes(into, request)
  },
  reschedule: (into, request) => {
    checkJobId(into, request)
    checkDue(into, request)
  },
  promote: checkJobId,
  attempts: checkJobId,
  logs: checkJobId,
  stuck: (into, request) => {
    checkOneOf(into, 'status', request.status, ['pending', 'processing'])
    checkRange(into, 'olderThanMs', request.olderThanMs, limits.janitorMs)
    checkRange(into, 'limit', request.limit, limits.pageSize)
    if (request.heldNames !== undefined) {
      checkSwitchNames(into, 'heldNames', request.heldNames)
    }
  },
  reportProgress: (into, request) => {
    checkNumber(into, 'progress', request.progress, { min: 0, max: 1 })
    if (request.logs !== undefined) checkLogs(into, 'logs', request.logs)
    if (request.spent !== undefined) checkSpendings(into, request.spent)
  },
  readReceipt: null,
}

/** A text that is not an id is the id of no job, which is not an error. */
function checkJobId(into: Violations, { id }: { readonly id: unknown }): void {
  if (typeof id === 'string') return
  into.push({ field: 'id', given: describeGiven(id), allowed: 'the id of a job, a string' })
}

/** Whether a time is too far away depends on the clock of the store, which checks it. */
function checkDue(into: Violations, { delayMs, runAt }: RescheduleJob): void {
  if ((delayMs === undefined) === (runAt === undefined)) {
    const given = delayMs === undefined ? 'none' : 'both'
    into.push({ field: 'runAt', given, allowed: 'either runAt or delayMs' })
  }
  if (delayMs !== undefined) checkRange(into, 'delayMs', delayMs, limits.messageDelayMs)
}

function checkJobs(into: Violations, { jobs }: EnqueueJobs): void {
  checkRange(into, 'jobs: count', jobs.length, limits.messagesPerCall)
  for (const job of jobs) checkJob(into, job)
}

export function checkJob(into: Violations, job: NewJob): void {
  const { type, maxAttempts, owner, idempotency, throttle, debounce, backoff, expiresAfterMs } = job
  checkText(into, 'type', type, limits.jobTypeLength)
  if (maxAttempts !== undefined) checkRange(into, 'maxAttempts', maxAttempts, limits.jobAttempts)
  if (owner !== undefined) checkText(into, 'owner', owner, limits.ownerLength)
  checkJobLabels(into, '', job)
  if (backoff !== undefined) checkBackoffPolicy(into, 'backoff', backoff)
  if (expiresAfterMs !== undefined) {
    checkRange(into, 'expiresAfterMs', expiresAfterMs, limits.jobExpiryMs)
  }
  checkSystemAttributes(into, job)
  if (idempotency === undefined && throttle === undefined && debounce === undefined) return
  checkKey(into, job)
}

function checkSystemAttributes(
  into: Violations,
  { systemAttributes }: Pick<NewJob, 'systemAttributes'>,
): void {
  if (systemAttributes !== undefined) checkStringRecord(into, 'systemAttributes', systemAttributes)
}

function checkKey(into: Violations, job: NewJob): void {
  const { idempotency, throttle, debounce, delayMs, runAt } = job
  const given = [idempotency, throttle, debounce].filter((one) => one !== undefined)
  if (given.length > 1) {
    const allowed = 'one of idempotency, throttle and debounce'
    into.push({ field: 'job', given: `${given.length} of them`, allowed })
  }
  if (idempotency !== undefined) {
    const { key, lifetimeMs } = idempotency
    checkText(into, 'idempotency.key', key, limits.idempotencyKeyLength)
    if (lifetimeMs !== undefined) {
      checkRange(into, 'idempotency.lifetimeMs', lifetimeMs, limits.idempotencyMs)
    }
  }
  if (throttle !== undefined) {
    checkText(into, 'throttle.key', throttle.key, limits.windowKeyLength)
    checkRange(into, 'throttle.windowMs', throttle.windowMs, limits.windowMs)
  }
  if (debounce === undefined) return
  const { key, windowMs, maxWaitMs } = debounce
  checkText(into, 'debounce.key', key, limits.windowKeyLength)
  checkRange(into, 'debounce.windowMs', windowMs, limits.windowMs)
  if (maxWaitMs !== undefined) {
    checkRange(into, 'debounce.maxWaitMs', maxWaitMs, { ...limits.windowMs, min: windowMs })
  }
  if (delayMs !== undefined || runAt !== undefined) {
    const field = delayMs === undefined ? 'runAt' : 'delayMs'
    into.push({ field, given: `${delayMs ?? runAt}`, allowed: 'none with a debounce' })
  }
}

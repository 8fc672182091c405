/** Checks of arguments about schedules. */
import { checkLength, checkRange, checkText, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { checkJob } from './checked-job-store.ts'
import type { Checks } from './checking.ts'
import type { Emitted } from './emitted.ts'
import type { ScheduleStore } from './schedule-store.ts'

export const scheduleChecks: Checks<ScheduleStore> = {
  now: null,
  ensure: (into, request) => {
    checkText(into, 'schedule', request.schedule, limits.scheduleNameLength)
    checkText(into, 'scope', request.scope, limits.scheduleNameLength)
    checkText(into, 'rule', request.rule, limits.scheduleRuleLength)
    checkMoment(into, 'nextAt', request.nextAt)
  },
  due: null,
  tick: (into, request) => {
    checkMoment(into, 'dueAt', request.dueAt)
    checkMoment(into, 'nextAt', request.nextAt)
    checkMoment(into, 'at', request.at)
    checkRange(into, 'skipped', request.skipped, moments)
    if (request.failure !== undefined) {
      checkLength(into, 'failure', request.failure, limits.errorLength)
    }
    if (request.emission !== undefined) checkEmitted(into, request.emission)
  },
  runNow: (into, request) => {
    checkText(into, 'by', request.by, limits.switchByLength)
    checkEmitted(into, request.emission)
  },
  pause: (into, request) => checkText(into, 'by', request.by, limits.switchByLength),
  resume: (into, request) => {
    checkText(into, 'by', request.by, limits.switchByLength)
    checkMoment(into, 'nextAt', request.nextAt)
  },
  read: null,
  list: null,
  renew: (into, request) => checkRange(into, 'abandonedAfterMs', request.abandonedAfterMs, moments),
}

const moments = { min: 0, max: Number.MAX_SAFE_INTEGER, unit: 'ms since 1970' }

function checkMoment(into: Violations, field: string, value: number | null): void {
  if (value !== null) checkRange(into, field, value, moments)
}

/** Messages are checked by the store, which knows their queue. */
function checkEmitted(into: Violations, emission: Emitted): void {
  if ('job' in emission) checkJob(into, emission.job)
}

/** Checks every argument about schedules, as checked-backend.ts does for messages. */
import { checkLength, checkRange, checkText, type Violations } from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { checkJob } from './checked-job-store.ts'
import { check } from './checking.ts'
import type { Emitted } from './emitted.ts'
import type { ScheduleStore } from './schedule-store.ts'

export function checkedScheduleStore(store: ScheduleStore): ScheduleStore {
  return {
    now: () => store.now(),
    ensure: async (request) => {
      check((into) => {
        checkText(into, 'schedule', request.schedule, limits.scheduleNameLength)
        checkText(into, 'scope', request.scope, limits.scheduleNameLength)
        checkText(into, 'rule', request.rule, limits.scheduleRuleLength)
        checkMoment(into, 'nextAt', request.nextAt)
      })
      return store.ensure(request)
    },
    due: (request) => store.due(request),
    tick: async (request) => {
      check((into) => {
        checkMoment(into, 'dueAt', request.dueAt)
        checkMoment(into, 'nextAt', request.nextAt)
        checkMoment(into, 'at', request.at)
        checkRange(into, 'skipped', request.skipped, moments)
        if (request.failure !== undefined) {
          checkLength(into, 'failure', request.failure, limits.errorLength)
        }
        if (request.emission !== undefined) checkEmitted(into, request.emission)
      })
      return store.tick(request)
    },
    runNow: async (request) => {
      check((into) => {
        checkText(into, 'by', request.by, limits.switchByLength)
        checkEmitted(into, request.emission)
      })
      return store.runNow(request)
    },
    pause: async (request) => {
      check((into) => checkText(into, 'by', request.by, limits.switchByLength))
      return store.pause(request)
    },
    resume: async (request) => {
      check((into) => {
        checkText(into, 'by', request.by, limits.switchByLength)
        checkMoment(into, 'nextAt', request.nextAt)
      })
      return store.resume(request)
    },
    read: (request) => store.read(request),
    list: (request) => store.list(request),
    renew: async (request) => {
      check((into) => checkRange(into, 'abandonedAfterMs', request.abandonedAfterMs, moments))
      return store.renew(request)
    },
  }
}

const moments = { min: 0, max: Number.MAX_SAFE_INTEGER, unit: 'ms since 1970' }

function checkMoment(into: Violations, field: string, value: number | null): void {
  if (value !== null) checkRange(into, field, value, moments)
}

/** Messages are checked by the store, which knows their queue. */
function checkEmitted(into: Violations, emission: Emitted): void {
  if ('job' in emission) checkJob(into, emission.job)
}

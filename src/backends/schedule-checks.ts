/** Checks of arguments about schedules. */
import {
  checkLength,
  checkRange,
  checkText,
  describeGiven,
  type Violations,
} from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { checkJob } from './checked-job-store.ts'
import { type Checks, checkCount, checkPage, isCount } from './checking.ts'
import type { Emitted } from './emitted.ts'
import type { ScheduleStore, SetSchedule, Tick } from './schedule-store.ts'

export const scheduleChecks: Checks<ScheduleStore> = {
  now: null,
  ensure: (into, request) => {
    checkText(into, 'schedule', request.schedule, limits.storedScheduleNameLength)
    checkText(into, 'scope', request.scope, limits.storedScheduleNameLength)
    checkText(into, 'rule', request.rule, limits.scheduleRuleLength)
    checkMoment(into, 'nextAt', request.nextAt)
  },
  set: (into, request) => {
    checkText(into, 'scope', request.scope, limits.storedScheduleNameLength)
    checkCount(into, 'schedules', request.schedules)
    if (!isCount(request.schedules)) return
    for (const [index, one] of request.schedules.entries())
      checkSet(into, `schedules[${index}].`, one)
    checkDistinct(into, request.schedules)
  },
  remove: null,
  due: null,
  tick: (into, request) => {
    checkCount(into, 'ticks', request.ticks)
    if (!isCount(request.ticks)) return
    for (const [index, one] of request.ticks.entries()) checkTick(into, `ticks[${index}].`, one)
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
  list: checkPage,
  renew: (into, request) => checkRange(into, 'abandonedAfterMs', request.abandonedAfterMs, moments),
  reportUnserved: (into, request) => {
    checkRange(into, 'overdueMs', request.overdueMs, moments)
    checkLength(into, 'error', request.error, limits.errorLength)
  },
}

const moments = { min: 0, max: Number.MAX_SAFE_INTEGER, unit: 'ms since 1970' }

function checkMoment(into: Violations, field: string, value: number | null): void {
  if (value !== null) checkRange(into, field, value, moments)
}

function checkSet(into: Violations, prefix: string, schedule: SetSchedule): void {
  const { schedule: name, rule, definition, target, nextAt } = schedule
  checkText(into, `${prefix}schedule`, name, limits.storedScheduleNameLength)
  checkText(into, `${prefix}rule`, rule, limits.scheduleRuleLength)
  checkText(into, `${prefix}definition`, definition, limits.scheduleDefinitionLength)
  checkText(into, `${prefix}target`, target, limits.scheduleTargetLength)
  checkRange(into, `${prefix}nextAt`, nextAt, moments)
  checkEmitted(into, schedule.example)
}

/** In one transaction, the second would change what the first has just created. */
function checkDistinct(into: Violations, schedules: readonly SetSchedule[]): void {
  const seen = new Set<string>()
  for (const [index, { schedule }] of schedules.entries()) {
    if (seen.has(schedule)) {
      const field = `schedules[${index}].schedule`
      into.push({ field, given: describeGiven(schedule), allowed: 'each name once' })
    }
    seen.add(schedule)
  }
}

function checkTick(into: Violations, prefix: string, tick: Tick): void {
  checkMoment(into, `${prefix}dueAt`, tick.dueAt)
  checkMoment(into, `${prefix}nextAt`, tick.nextAt)
  checkMoment(into, `${prefix}at`, tick.at)
  checkRange(into, `${prefix}skipped`, tick.skipped, moments)
  if (tick.failure !== undefined) {
    checkLength(into, `${prefix}failure`, tick.failure, limits.errorLength)
  }
  if (tick.emission !== undefined) checkEmitted(into, tick.emission)
}

/** Messages are checked by the store, which knows their queue. */
function checkEmitted(into: Violations, emission: Emitted): void {
  if ('job' in emission) checkJob(into, emission.job)
}

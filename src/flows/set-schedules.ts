/** Sets schedules at run time: checks them as declared ones are checked, and stores all of them or none. */
import type { ScheduleChange, ScheduleStore, SetSchedule } from '../backends/schedule-store.ts'
import { checkSchedule } from '../contracts/check-schedules.ts'
import type { CheckedQueues } from '../contracts/check-work.ts'
import type { App } from '../contracts/define-app.ts'
import type { ScheduleOptions } from '../contracts/schedule-declaration.ts'
import { definitionText, targetText } from '../contracts/schedule-definition.ts'
import { ruleOf } from '../contracts/schedule-rule.ts'
import { isRecord } from '../contracts/setting-checks.ts'
import { checkText, describeGiven, type Violations } from '../core/checks.ts'
import type { ErrorCode } from '../core/error-codes.ts'
import { limits } from '../core/limits.ts'
import { MillraceError, type Violation } from '../core/millrace-error.ts'
import type { SchedulePlan } from './planned-schedules.ts'
import { checkEnd } from './schedule-end.ts'

/** As it was given. It may come from plain JavaScript. */
export interface NamedOptions {
  readonly name: unknown
  readonly options: unknown
  /** Leads to the options in errors, such as `schedules[2]`; empty if they are arguments themselves. */
  readonly field: string
}

export interface SetSchedulesSetup {
  readonly app: App
  readonly plan: SchedulePlan
  readonly store: ScheduleStore
}

export async function setSchedules(
  setup: SetSchedulesSetup,
  given: readonly NamedOptions[],
): Promise<readonly ScheduleChange[]> {
  const { app, plan } = setup
  const queues: CheckedQueues = new Map(Object.entries(app.queues))
  refuseAll([...given.flatMap((one) => checkGiven(one, queues, plan)), ...repeated(given)])
  // They have passed the checks above.
  const wellFormed = given as readonly WellFormed[]
  for (let tries = triesMax; tries > 1; tries -= 1) {
    try {
      return await setOnce(setup, wellFormed)
    } catch (error) {
      if (!(error instanceof MillraceError) || error.code !== 'schedule_ticked') throw error
    }
  }
  return setOnce(setup, wellFormed)
}

/** A tick may be sent between working out the next one and storing it. */
const triesMax = 3

async function setOnce(
  { plan, store }: SetSchedulesSetup,
  wellFormed: readonly WellFormed[],
): Promise<readonly ScheduleChange[]> {
  const now = await store.now()
  const checked = await Promise.all(wellFormed.map((one) => preparedOf(plan, one, now)))
  const { code } = checked.find((one) => one.violations.length > 0) ?? {}
  refuseAll(
    checked.flatMap(({ violations }) => violations),
    code,
  )
  const schedules = checked.flatMap(({ schedule }) => schedule ?? [])
  return store.set({ scope: plan.scope, schedules })
}

interface WellFormed extends NamedOptions {
  readonly name: string
  readonly options: ScheduleOptions
}

function refuseAll(violations: readonly Violation[], code?: ErrorCode): void {
  if (violations.length > 0) throw MillraceError.invalid(violations, code)
}

function checkGiven(
  { name, options, field }: NamedOptions,
  queues: CheckedQueues,
  { declared }: SchedulePlan,
): readonly Violation[] {
  const into: Violations = []
  const prefix = field === '' ? '' : `${field}.`
  checkText(into, `${prefix}name`, name, limits.scheduleNameLength)
  if (typeof name !== 'string') return into
  if (declared.some(({ key }) => key === name)) {
    const allowed = 'a name that no declared schedule has; change its declaration instead'
    into.push({ field: `${prefix}name`, given: describeGiven(name), allowed })
  }
  if (!isRecord(options)) {
    const allowed = '{ cron or every, job or send, payload }'
    into.push({ field: field || 'schedule', given: describeGiven(options), allowed })
    return into
  }
  checkSchedule(into, field, { name, options, queues })
  if (typeof options['payload'] === 'function') {
    const allowed = 'a JSON value; only a declared schedule may have a function'
    into.push({ field: `${prefix}payload`, given: 'a function', allowed })
  }
  return into
}

function repeated(given: readonly NamedOptions[]): readonly Violation[] {
  const seen = new Set<unknown>()
  return given.flatMap(({ name, field }) => {
    if (!seen.has(name)) {
      seen.add(name)
      return []
    }
    return { field: `${field}.name`, given: describeGiven(name), allowed: 'each name once' }
  })
}

interface Prepared {
  readonly schedule?: SetSchedule
  readonly violations: readonly Violation[]
  readonly code?: ErrorCode
}

/** Checks what depends on the time and on the contract. */
async function preparedOf(
  plan: SchedulePlan,
  { name, options, field }: WellFormed,
  now: number,
): Promise<Prepared> {
  const prefix = field === '' ? '' : `${field}.`
  const refused = (violations: readonly Violation[]): Prepared => ({
    violations: violations.map((one) => ({ ...one, field: `${prefix}${one.field}` })),
  })
  const ended = checkEnd(options.until, { now, mayBeOver: false })
  if (ended.length > 0) return refused(ended)
  const rule = ruleOf(options)
  const nextAt = rule.nextAfter(now)
  if (nextAt === null) return refused([neverTicks(options)])
  try {
    const example = await plan.example(name, options, { at: new Date(now), id: 'example' })
    const schedule = {
      schedule: plan.storedName(name),
      rule: rule.text,
      definition: definitionText(options),
      target: targetText(options),
      nextAt,
      example,
    }
    return { schedule, violations: [] }
  } catch (error) {
    if (!(error instanceof MillraceError) || error.violations.length === 0) throw error
    // The contract of a queue calls the payload a message.
    return refused(
      error.violations.map((one) => ({
        ...one,
        field: one.field.replace(/^message\b/, 'payload'),
      })),
    )
  }
}

function neverTicks({ until }: ScheduleOptions): Violation {
  if (until === undefined) return { field: 'cron', given: 'no more ticks', allowed: 'a later tick' }
  return { field: 'until', given: until.toISOString(), allowed: 'a time after the first tick' }
}

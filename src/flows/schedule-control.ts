/**
 * Operations on a schedule in the store, by its name. The store has its rule too, so they work without the
 * app that declared it.
 */
import type { ScheduleRecord, ScheduleStore } from '../backends/schedule-store.ts'
import { ruleFromText, type ScheduleRule } from '../contracts/schedule-rule.ts'
import { checkRange, type Violations } from '../core/checks.ts'
import { MillraceError } from '../core/millrace-error.ts'

export interface ScheduleControl {
  read(): Promise<ScheduleRecord>
  /** The next ticks; none while the schedule is paused. */
  next(count: number): Promise<readonly Date[]>
  pause(by: string): Promise<ScheduleRecord>
  /** Continues with the next tick from now. */
  resume(by: string): Promise<ScheduleRecord>
  /** False if it does not exist. A declared one is refused. */
  remove(): Promise<boolean>
}

export function scheduleControl(store: ScheduleStore, schedule: string): ScheduleControl {
  const read = async (): Promise<ScheduleRecord> => present(await store.read({ schedule }))
  return {
    read,
    next: async (count) => {
      refuseCount(count)
      const { rule, nextAt, pausedAt } = await read()
      return pausedAt === null ? ticksFrom(storedRule(rule), nextAt, count) : []
    },
    pause: async (by) => present(await store.pause({ schedule, by })),
    resume: async (by) => {
      const { rule } = await read()
      const nextAt = storedRule(rule).nextAfter(await store.now())
      return present(await store.resume({ schedule, by, nextAt }))
    },
    remove: () => store.remove({ schedule }),
  }
}

/** A tick and the ticks after it. */
function ticksFrom(rule: ScheduleRule, first: number | null, count: number): readonly Date[] {
  const ticks: Date[] = []
  for (let at = first; at !== null && ticks.length < count; at = rule.nextAfter(at)) {
    ticks.push(new Date(at))
  }
  return ticks
}

function storedRule(text: string): ScheduleRule {
  try {
    return ruleFromText(text)
  } catch (cause) {
    const message =
      'The rule of the schedule was written by a newer version of Millrace. Upgrade this one.'
    throw new MillraceError('unsupported', { message, cause })
  }
}

function refuseCount(count: number): void {
  const violations: Violations = []
  checkRange(violations, 'count', count, { min: 1, max: 1_000, unit: 'ticks' })
  if (violations.length > 0) throw MillraceError.invalid(violations)
}

function present(record: ScheduleRecord | undefined): ScheduleRecord {
  if (record === undefined) throw new MillraceError('schedule_not_found')
  return record
}

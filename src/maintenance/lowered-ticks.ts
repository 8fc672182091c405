/**
 * If the wall clock was ahead and is set back, next ticks were worked out by the wrong time and are too far
 * away. Apps lower those of declared schedules whenever they renew them. Schedules that were set at run time
 * may be a million, so they are lowered only after the clock went back, a page at a time.
 */
import type { ScheduleRecord, ScheduleStore } from '../backends/schedule-store.ts'
import { limits } from '../core/limits.ts'
import { abandonedAfterMs } from '../flows/ensure-schedules.ts'
import type { PlannedSchedule, SchedulePlan } from '../flows/planned-schedules.ts'

/** The clock is corrected by less than this all the time. */
const correctionMsMax = 1_000

export class LoweredTicks {
  readonly #store: Pick<ScheduleStore, 'list' | 'renew'>
  readonly #plan: SchedulePlan
  #latestMs = 0
  /** The last schedule that was lowered; undefined if there is nothing to lower. */
  #after: string | undefined

  constructor(store: Pick<ScheduleStore, 'list' | 'renew'>, plan: SchedulePlan) {
    this.#store = store
    this.#plan = plan
  }

  /** Lowers one page if the clock went back. Resolves with whether there is more to do. */
  async slice(now: number): Promise<boolean> {
    if (now < this.#latestMs - correctionMsMax) this.#after = this.#plan.storedName('')
    this.#latestMs = now
    if (this.#after === undefined) return false
    const { scope } = this.#plan
    const prefix = this.#plan.storedName('')
    const limit = limits.pageSize.max
    const page = { scope, prefix, isDeclared: false, after: this.#after, limit }
    const { items, next } = await this.#store.list(page)
    const schedules = items.flatMap((record) => this.#nextOf(record, now) ?? [])
    await this.#store.renew({ scope, schedules, abandonedAfterMs })
    this.#after = next
    return next !== undefined
  }

  #nextOf(
    record: ScheduleRecord,
    now: number,
  ): { schedule: string; rule: string; nextAt: number | null } | undefined {
    const { schedule, rule, definition } = record
    const nextAt = definition && this.#plannedOf(record, definition)?.rule.nextAfter(now)
    return nextAt ? { schedule, rule, nextAt } : undefined
  }

  /** Undefined if a newer version of Millrace wrote something that this one cannot read. */
  #plannedOf(record: ScheduleRecord, definition: string): PlannedSchedule | undefined {
    try {
      return this.#plan.planned(record, definition)
    } catch {
      return undefined
    }
  }
}

/**
 * Schedules whose queue or job type no running version of the app has. Their ticks stay due, so that a
 * version that has it can fire them.
 */
import type { DueSchedules, ScheduleStore } from '../backends/schedule-store.ts'
import { missedAfterMs } from '../flows/missed-ticks.ts'
import type { Logger } from '../observability/logger.ts'

export interface UnservedSetup {
  readonly store: Pick<ScheduleStore, 'reportUnserved'>
  readonly scope: string
  readonly log: Logger
}

/** Reports targets with ticks that no process has fired within a minute. */
export async function reportUnserved(
  { store, scope, log }: UnservedSetup,
  { unserved, now }: DueSchedules,
): Promise<void> {
  for (const { target, dueAt } of unserved) {
    if (now - dueAt <= missedAfterMs) continue
    const error = `No running version of the app has the queue or job type '${target}'.`
    const count = await store.reportUnserved({ scope, target, overdueMs: missedAfterMs, error })
    if (count > 0) log.error({ target, schedules: count }, 'schedules without a queue or job type')
  }
}

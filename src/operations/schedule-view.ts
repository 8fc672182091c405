/** Schedules as all surfaces show them. Field names are API. */
import type { ScheduleRecord } from '../backends/schedule-store.ts'
import { definitionFrom, type ScheduleDefinition } from '../contracts/schedule-definition.ts'
import { isoTime } from '../core/iso-time.ts'

export interface ScheduleView {
  readonly name: string
  /** The app and stage of the schedule. */
  readonly scope: string
  readonly rule: string
  /** Whether an app declares it. Otherwise it was set at run time. */
  readonly declared: boolean
  /** The key of the queue that it sends to; null if it is declared. */
  readonly queue: string | null
  /** The job type; null if it is declared or sends messages. */
  readonly type: string | null
  /** Null while paused, or if there are no more ticks. */
  readonly next_at: string | null
  readonly last_at: string | null
  readonly ticks: number
  readonly skipped: number
  readonly failed: number
  readonly last_error: string | null
  readonly paused_at: string | null
  readonly paused_by: string | null
  readonly resumed_at: string | null
  readonly resumed_by: string | null
  readonly ran_at: string | null
  readonly ran_by: string | null
}

export function scheduleView(record: ScheduleRecord): ScheduleView {
  const { schedule: name, scope, rule, definition, ticks, skipped, failed, pausedAt } = record
  // The payload is left out: it may be private.
  const { job, send } = definitionOf(record)
  return {
    name,
    scope,
    rule,
    declared: definition === null,
    queue: (job ?? send)?.queue ?? null,
    type: job?.type ?? null,
    next_at: pausedAt === null ? isoTime(record.nextAt) : null,
    last_at: isoTime(record.lastAt),
    ticks,
    skipped,
    failed,
    last_error: record.lastError,
    paused_at: isoTime(pausedAt),
    paused_by: record.pausedBy,
    resumed_at: isoTime(record.resumedAt),
    resumed_by: record.resumedBy,
    ran_at: isoTime(record.ranAt),
    ran_by: record.ranBy,
  }
}

function definitionOf({ definition }: ScheduleRecord): ScheduleDefinition {
  return definition === null ? {} : definitionFrom(definition)
}

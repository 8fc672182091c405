/** Rows of schedules, and how they are read. */

import type { ScheduleName, ScheduleRecord } from '../../backends/schedule-store.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { change, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'

export const columns = `
  name AS schedule, scope, rule, definition, next_at AS "nextAt", last_at AS "lastAt", ticks, skipped, failed,
  last_error AS "lastError", paused_at AS "pausedAt", paused_by AS "pausedBy", resumed_at AS "resumedAt",
  resumed_by AS "resumedBy", ran_at AS "ranAt", ran_by AS "ranBy"`

const sql = {
  find: query<ScheduleRecord>(`SELECT ${columns} FROM schedule WHERE name = ?`),
  removeEnded: change(`
    DELETE FROM schedule WHERE name = ? AND next_at IS NULL AND definition IS NOT NULL`),
}

export function* findSchedule(
  view: View,
  { schedule }: ScheduleName,
): Steps<ScheduleRecord | undefined> {
  const row = yield* view.one(sql.find, schedule)
  return row && recordOf(row)
}

/**
 * A definition as the row has it, if it is equal; otherwise as it is given. Sealed texts that are equal
 * are not equal.
 */
export function storedDefinition(
  view: View,
  stored: Pick<ScheduleRecord, 'definition'> | undefined,
  definition: string | null,
): string | null {
  const text = stored?.definition ?? null
  if (text === null || definition === null) return definition
  return view.open(text) === view.open(definition) ? text : definition
}

/** Rows arrive as objects without a prototype, which are not equal to any other object. */
export function recordOf(row: ScheduleRecord): ScheduleRecord {
  return { ...row }
}

/** A declared schedule stays, because its app would only bring it back. */
export function* removeEnded(tx: Transaction, { schedule }: ScheduleName): Steps<void> {
  if (yield* tx.changed(sql.removeEnded, schedule)) tx.wroteRow()
}

export function ownedByAnother({ schedule, scope }: ScheduleRecord): MillraceError {
  return nameTaken(schedule, `another name; ${scope} has a schedule of this one`)
}

export function nameTaken(schedule: string, allowed: string): MillraceError {
  return MillraceError.invalid([{ field: 'schedule', given: `'${schedule}'`, allowed }])
}

/** Schedules that are set at run time: created, changed and removed by their names. */

import type {
  ScheduleChange,
  ScheduleName,
  ScheduleRecord,
  ScheduleScope,
  SetSchedule,
  SetSchedules,
} from '../../backends/schedule-store.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { refuseEmitted } from '../messages/emitting.ts'
import { change } from '../statements.ts'
import { inTurn, type Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import { findSchedule, nameTaken, ownedByAnother, storedDefinition } from './schedule-rows.ts'

const sql = {
  add: change(`
    INSERT INTO schedule (name, scope, rule, definition, target, next_at, declared_at)
    VALUES (?, ?, ?, ?, ?, ?, ?)`),
  change: change(`
    UPDATE schedule SET
      next_at = CASE WHEN rule = ? THEN next_at ELSE ? END,
      rule = ?, definition = ?, target = ?, declared_at = ?
    WHERE name = ? AND definition IS NOT NULL`),
  remove: change('DELETE FROM schedule WHERE name = ? AND definition IS NOT NULL'),
}

export function* setSchedules(
  tx: Transaction,
  { scope, schedules }: SetSchedules,
): Steps<readonly ScheduleChange[]> {
  return yield* inTurn(schedules, (schedule) => setSchedule(tx, { ...schedule, scope }))
}

function* setSchedule(
  tx: Transaction,
  request: SetSchedule & ScheduleScope,
): Steps<ScheduleChange> {
  const { schedule, scope, rule, definition, target, nextAt, example } = request
  const refusal = yield* refuseEmitted(tx, example)
  if (refusal !== undefined) throw refusal
  const known = yield* findSchedule(tx, request)
  if (known === undefined) {
    tx.wroteRow()
    yield* tx.run(sql.add, schedule, scope, rule, definition, target, nextAt, tx.now)
    return 'created'
  }
  if (known.scope !== scope) throw ownedByAnother(known)
  if (known.definition === null) throw declared(schedule)
  const isSame = storedDefinition(tx, known, definition) === known.definition
  if (known.rule === rule && isSame) return 'unchanged'
  if (known.rule !== rule && hasTicked(tx, known, nextAt))
    throw new MillraceError('schedule_ticked')
  tx.wroteRow()
  yield* tx.run(sql.change, rule, nextAt, rule, definition, target, tx.now, schedule)
  return 'changed'
}

/** Whether a next tick was worked out before the latest one, and would be sent a second time. */
function hasTicked({ wallMs }: View, { lastAt }: ScheduleRecord, nextAt: number): boolean {
  return lastAt !== null && nextAt <= lastAt && nextAt <= wallMs
}

export function* removeSchedule(tx: Transaction, request: ScheduleName): Steps<boolean> {
  if (yield* tx.changed(sql.remove, request.schedule)) {
    tx.wroteRow()
    return true
  }
  if ((yield* findSchedule(tx, request)) !== undefined) throw declared(request.schedule)
  return false
}

function declared(schedule: string): Error {
  return nameTaken(schedule, 'a schedule that is not declared by an app; change its declaration')
}

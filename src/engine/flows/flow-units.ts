/**
 * The rows of units. A unit has at most one message that works on it. When it gets another one, the former
 * is unlinked, and its end no longer affects the flow.
 */

import type { UnitKey } from '../../backends/flow-store.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { change, lookUp, orReplace, perRow, query, type Statement } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'

/** States as they are stored. */
export const pending = 0
export const done = 1
export const dead = 2

export interface UnitRow {
  readonly number: number
  readonly flow: number
  readonly id: string
  readonly state: number
  readonly started: 0 | 1
  readonly message: number | null
  readonly marked_at: number | null
  readonly reason: string | null
}

/** Adds to the numbers of a flow's units that are done and dead. */
export const countUnits: Statement = change(
  'UPDATE flow SET done = done + ?, dead = dead + ? WHERE number = ?',
)

const sql = {
  byId: query<UnitRow>('SELECT * FROM flow_unit WHERE flow = ? AND id = ?'),
  byNumber: query<UnitRow>('SELECT * FROM flow_unit WHERE number = ?'),
  keyOf: query<UnitKey>(`
    SELECT flow.name AS flow, flow.id, flow_unit.id AS unit
    FROM flow_unit ${lookUp('flow', 'flow.number = flow_unit.flow')} WHERE flow_unit.number = ?`),
  link: change('UPDATE flow_unit SET started = 1, message = ? WHERE number = ?'),
  unlinkMessage: change('UPDATE message SET unit = NULL WHERE sequence = ? AND unit = ?'),
  rename: change('UPDATE flow_unit SET message = ? WHERE number = ? AND message = ?'),
  revive: change(`
    UPDATE flow_unit SET state = ${pending}, marked_at = NULL, reason = NULL
    WHERE number = ? AND state = ${dead}
      AND EXISTS (
        SELECT 1 FROM flow WHERE flow.number = flow_unit.flow AND status = 'open' ${perRow}
      )`),
}

export const releaseUnit: Statement = change(
  'UPDATE flow_unit SET message = NULL WHERE number = ? AND message = ?',
)

export const keepWork: Statement = change(
  `INSERT INTO unit_work (unit, work) VALUES (?, ?)
    ${orReplace('unit', 'work')}`,
)

export function* findUnit(tx: Transaction, flow: number, id: string): Steps<UnitRow | undefined> {
  return yield* tx.one(sql.byId, flow, id)
}

/** Throws `unit_not_found`. */
export function* requireUnit(tx: Transaction, flow: number, id: string): Steps<UnitRow> {
  const unit = yield* findUnit(tx, flow, id)
  if (unit === undefined) throw new MillraceError('unit_not_found')
  return unit
}

export function* unitByNumber(tx: Transaction, number: number): Steps<UnitRow | undefined> {
  return yield* tx.one(sql.byNumber, number)
}

/** The key of the unit of a message; null when its flow is gone. */
export function* unitKeyOf(view: View, number: number): Steps<UnitKey | null> {
  const row = yield* view.one(sql.keyOf, number)
  return row === undefined ? null : { flow: row.flow, id: row.id, unit: row.unit }
}

/** Sets the message that works on a unit. */
export function* linkMessage(tx: Transaction, unit: number, sequence: number): Steps<void> {
  const row = yield* unitByNumber(tx, unit)
  if (row === undefined) return
  yield* unlinkMessage(tx, row)
  yield* tx.run(sql.link, sequence, unit)
}

/** The end of this message no longer affects the unit. */
export function* unlinkMessage(
  tx: Transaction,
  { number, message }: Pick<UnitRow, 'number' | 'message'>,
): Steps<void> {
  if (message !== null) yield* tx.run(sql.unlinkMessage, message, number)
}

/** The message of a unit has another sequence number. */
export function* messageRenamed(
  tx: Transaction,
  unit: number,
  { from, to }: { readonly from: number; readonly to: number },
): Steps<void> {
  if (from !== to) yield* tx.run(sql.rename, to, unit, from)
}

/** A dead unit has work again; it is pending if its flow is still open. */
export function* reviveUnit(tx: Transaction, number: number): Steps<void> {
  if (!(yield* tx.changed(sql.revive, number))) return
  const row = yield* unitByNumber(tx, number)
  if (row !== undefined) yield* tx.run(countUnits, 0, -1, row.flow)
}

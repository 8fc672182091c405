/**
 * The rows of units. A unit has at most one message that works on it: whenever it gets another one, the
 * former is let go, and its end means nothing to the flow any more.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { UnitKey } from '../../flow-store.ts'
import { changed, getRow } from '../driver/rows.ts'
import type { Session } from '../driver/session.ts'
import type { StoreTransaction } from '../driver/transaction.ts'

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

export interface UnitStatements {
  readonly insert: StatementSync
  readonly byId: StatementSync
  readonly byNumber: StatementSync
  readonly keyOf: StatementSync
  readonly link: StatementSync
  readonly unlinkMessage: StatementSync
  readonly rename: StatementSync
  readonly release: StatementSync
  readonly markDone: StatementSync
  readonly markDead: StatementSync
  readonly revive: StatementSync
  readonly rewind: StatementSync
  readonly touchedAfter: StatementSync
  readonly keepWork: StatementSync
  readonly readWork: StatementSync
}

export function prepareUnits(db: DatabaseSync): UnitStatements {
  return {
    insert: db.prepare(`
      INSERT INTO flow_unit (number, flow, id, state, started, message) VALUES (?, ?, ?, 0, ?, ?)`),
    byId: db.prepare('SELECT * FROM flow_unit WHERE flow = ? AND id = ?'),
    byNumber: db.prepare('SELECT * FROM flow_unit WHERE number = ?'),
    keyOf: db.prepare(`
      SELECT flow.name AS flow, flow.id, flow_unit.id AS unit
      FROM flow_unit JOIN flow ON flow.number = flow_unit.flow WHERE flow_unit.number = ?`),
    link: db.prepare('UPDATE flow_unit SET started = 1, message = ? WHERE number = ?'),
    unlinkMessage: db.prepare('UPDATE message SET unit = NULL WHERE sequence = ? AND unit = ?'),
    rename: db.prepare('UPDATE flow_unit SET message = ? WHERE number = ? AND message = ?'),
    release: db.prepare('UPDATE flow_unit SET message = NULL WHERE number = ? AND message = ?'),
    markDone: db.prepare(`
      UPDATE flow_unit SET
        state = ${done}, marked_at = ?, reason = NULL, message = nullif(message, ?)
      WHERE number = ? AND state <> ${done}`),
    markDead: db.prepare(`
      UPDATE flow_unit SET
        state = ${dead}, marked_at = ?, reason = ?, message = nullif(message, ?)
      WHERE number = ? AND state = ${pending}`),
    revive: db.prepare(`
      UPDATE flow_unit SET state = ${pending}, marked_at = NULL, reason = NULL
      WHERE number = ? AND state = ${dead}
        AND EXISTS (SELECT 1 FROM flow WHERE flow.number = flow_unit.flow AND status = 'open')`),
    rewind: db.prepare(`
      UPDATE flow_unit SET
        state = ${pending}, started = 0, message = NULL, marked_at = NULL, reason = NULL
      WHERE number = ?`),
    touchedAfter: db.prepare(`
      SELECT * FROM flow_unit
      WHERE flow = ? AND number > ? AND (state <> ${pending} OR started = 1)`),
    keepWork: db.prepare('INSERT OR REPLACE INTO unit_work (unit, work) VALUES (?, ?)'),
    readWork: db.prepare('SELECT work FROM unit_work WHERE unit = ?'),
  }
}

export function findUnit(tx: StoreTransaction, flow: number, id: string): UnitRow | undefined {
  return getRow<UnitRow>(tx.session.units.byId, flow, id)
}

export function unitByNumber(tx: StoreTransaction, number: number): UnitRow | undefined {
  return getRow<UnitRow>(tx.session.units.byNumber, number)
}

/** How others call the unit of a message; null when its flow is gone. */
export function unitKeyOf(session: Session, number: number): UnitKey | null {
  const row = getRow<UnitKey>(session.units.keyOf, number)
  return row === undefined ? null : { flow: row.flow, id: row.id, unit: row.unit }
}

/** Gives a unit the message that works on it from now on. */
export function linkMessage(tx: StoreTransaction, unit: number, sequence: number): void {
  const row = unitByNumber(tx, unit)
  if (row === undefined) return
  letGoOfMessage(tx, row)
  tx.session.units.link.run(sequence, unit)
}

/** What becomes of the message that worked on a unit is not the unit's business any more. */
export function letGoOfMessage(
  tx: StoreTransaction,
  { number, message }: Pick<UnitRow, 'number' | 'message'>,
): void {
  if (message !== null) tx.session.units.unlinkMessage.run(message, number)
}

/** The message of a unit has another sequence number. */
export function messageRenamed(
  tx: StoreTransaction,
  unit: number,
  { from, to }: { readonly from: number; readonly to: number },
): void {
  if (from !== to) tx.session.units.rename.run(to, unit, from)
}

/** A dead unit has work again; it is pending if its flow is still open. */
export function reviveUnit(tx: StoreTransaction, number: number): void {
  const { units, flows } = tx.session
  if (!changed(units.revive, number)) return
  const row = unitByNumber(tx, number)
  if (row !== undefined) flows.count.run(0, -1, row.flow)
}

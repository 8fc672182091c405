/** Opens flows, adds units to them with their messages, and seals them. */

import { MillraceError } from '../../../core/millrace-error.ts'
import type {
  AddedUnits,
  AddUnits,
  FlowKey,
  FlowRecord,
  NewUnit,
  OpenedFlow,
  OpenFlow,
  UnitKey,
} from '../../flow-store.ts'
import { change } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { endUnit, finalizeIfDone } from './flow-ends.ts'
import { type FlowRow, findFlow, flowByNumber, flowRecord, requireFlow } from './flow-rows.ts'
import { findUnit, keepWork, requireUnit, unitByNumber, unitKeyOf } from './flow-units.ts'
import { encodeEmitted, requireEmittable, sendForFlow } from './flow-work.ts'

const sql = {
  added: change('UPDATE flow SET total = total + ? WHERE number = ?'),
  seal: change(`UPDATE flow SET sealed = 1 WHERE number = ? AND status = 'open'`),
  insertText: change('INSERT INTO flow_text (flow, kind, text) VALUES (?, ?, ?)'),
  insert: change(`
    INSERT INTO flow (
      number, name, id, status, sealed, policy, on_deadline, keeps_work, in_order, keep_ms, parent,
      parent_flow, total, done, dead, opened_at, deadline_at, overdue, look_at, swept
    ) VALUES (?, ?, ?, 'open', 0, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, ?, ?, 0, ?, 0)`),
  insertUnit: change(`
    INSERT INTO flow_unit (number, flow, id, state, started, message) VALUES (?, ?, ?, 0, ?, ?)`),
}

/** Opens a flow, in place of its parent unit if it names one. Throws when a part of it is refused. */
export function openFlow(tx: StoreTransaction, request: OpenFlow): OpenedFlow {
  const existing = findFlow(tx, request)
  if (existing !== undefined) {
    return { status: 'duplicate', flow: flowRecord(tx, existing.number) }
  }
  const { parent } = request
  return openNewFlow(tx, request, parent === undefined ? null : requireParent(tx, parent))
}

/** Opens a flow that does not exist, in place of a unit. */
export function openNewFlow(
  tx: StoreTransaction,
  request: OpenFlow,
  parentUnit: number | null,
): OpenedFlow {
  const { finalize, failed, units, sealed } = request
  if (finalize !== undefined) requireEmittable(tx, finalize)
  if (failed !== undefined) requireEmittable(tx, failed)
  const number = insertFlow(tx, request, parentUnit)
  insertUnits(tx, { number, keeps_work: request.keepsWork ? 1 : 0 }, units)
  if (sealed) seal(tx, number)
  return { status: 'created', flow: flowRecord(tx, number) }
}

function requireParent(tx: StoreTransaction, key: UnitKey): number {
  const flow = requireFlow(tx, key)
  const { number } = requireUnit(tx, flow.number, key.unit)
  if (flow.status !== 'open') throw new MillraceError('flow_finished')
  return number
}

function insertFlow(tx: StoreTransaction, request: OpenFlow, parentUnit: number | null): number {
  const number = tx.nextSequence()
  const { deadlineMs, finalize, failed, data } = request
  const deadlineAt = deadlineMs === undefined ? null : tx.now + deadlineMs
  tx.run(
    sql.insert,
    number,
    request.flow,
    request.id,
    request.onUnitFailure,
    request.onDeadline ?? 'report',
    request.keepsWork ? 1 : 0,
    request.inOrder ? 1 : 0,
    request.keepMs,
    parentUnit,
    parentUnit === null ? null : (unitByNumber(tx, parentUnit)?.flow ?? null),
    tx.now,
    deadlineAt,
    deadlineAt,
  )
  if (finalize !== undefined) tx.run(sql.insertText, number, 'finalize', encodeEmitted(finalize))
  if (failed !== undefined) tx.run(sql.insertText, number, 'failed', encodeEmitted(failed))
  if (data !== undefined) tx.run(sql.insertText, number, 'data', data)
  const parent = parentUnit === null ? null : unitKeyOf(tx, parentUnit)
  if (parent !== null) tx.run(sql.insertText, number, 'parent', JSON.stringify(parent))
  return number
}

/** Adds units that are not there yet, with their messages; returns how many. */
function insertUnits(
  tx: StoreTransaction,
  { number, keeps_work }: Pick<FlowRow, 'number' | 'keeps_work'>,
  newUnits: readonly NewUnit[],
): number {
  let added = 0
  for (const { id, work } of newUnits) {
    if (findUnit(tx, number, id) !== undefined) {
      if (work !== undefined) requireEmittable(tx, work)
      continue
    }
    const unit = tx.nextSequence()
    const message = work === undefined ? null : sendForFlow(tx, work, unit)
    tx.run(sql.insertUnit, unit, number, id, work === undefined ? 0 : 1, message)
    if (work !== undefined && keeps_work === 1) tx.run(keepWork, unit, encodeEmitted(work))
    added += 1
  }
  if (added > 0) tx.run(sql.added, added, number)
  return added
}

export function addUnits(tx: StoreTransaction, request: AddUnits): AddedUnits {
  const flow = requireFlow(tx, request)
  const { number } = flow
  const fresh = request.units.filter(({ id }) => findUnit(tx, number, id) === undefined)
  // Units that were added before are not refused: the caller may not have seen the first result.
  if (fresh.length > 0) requireMoreAllowed(flow)
  const added = insertUnits(tx, flow, fresh)
  if (request.seal) seal(tx, number)
  const duplicates = request.units.length - added
  return { added, duplicates, flow: flowRecord(tx, number) }
}

function requireMoreAllowed({ status, sealed }: FlowRow): void {
  if (status !== 'open') throw new MillraceError('flow_finished')
  if (sealed === 1) throw new MillraceError('flow_sealed')
}

export function sealFlow(tx: StoreTransaction, key: FlowKey): FlowRecord {
  const { number } = requireFlow(tx, key)
  seal(tx, number)
  return flowRecord(tx, number)
}

function seal(tx: StoreTransaction, flow: number): void {
  if (flowByNumber(tx, flow)?.sealed === 1) return
  tx.run(sql.seal, flow)
  tx.wroteRow()
  const next = finalizeIfDone(tx, flow)
  if (next !== undefined) endUnit(tx, next)
}

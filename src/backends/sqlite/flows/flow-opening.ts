/** Opens flows, adds units to them with their messages, and seals them. */

import { MillraceError } from '../../../core/millrace-error.ts'
import type { Emitted } from '../../backend.ts'
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
import { findUnit, keepWork, unitByNumber, unitKeyOf } from './flow-units.ts'
import { encodeEmitted, refuseEmitted, sendForFlow } from './flow-work.ts'

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

/** What keeps a flow from being opened, found before anything changes. One that is there is none. */
export function refuseOpening(tx: StoreTransaction, request: OpenFlow): MillraceError | undefined {
  if (findFlow(tx.session, request) !== undefined) return undefined
  const { units, finalize, failed, parent } = request
  const refusal = parent === undefined ? undefined : refuseParent(tx, parent)
  return refusal ?? refuseAllEmitted(tx, [finalize, failed, ...units.map(({ work }) => work)])
}

function refuseParent(tx: StoreTransaction, key: UnitKey): MillraceError | undefined {
  const flow = findFlow(tx.session, key)
  if (flow === undefined) return new MillraceError('flow_not_found')
  if (findUnit(tx, flow.number, key.unit) === undefined) return new MillraceError('unit_not_found')
  return flow.status === 'open' ? undefined : new MillraceError('flow_finished')
}

function refuseAllEmitted(
  tx: StoreTransaction,
  emissions: readonly (Emitted | undefined)[],
): MillraceError | undefined {
  for (const emission of emissions) {
    const refusal = emission && refuseEmitted(tx, emission)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

/** Opens what was not refused, as the one that stands for a unit or, by default, for its parent. */
export function openFlow(
  tx: StoreTransaction,
  request: OpenFlow,
  parentUnit: number | null = parentNumber(tx, request.parent),
): OpenedFlow {
  const { session, now } = tx
  const existing = findFlow(session, request)
  if (existing !== undefined) {
    return { status: 'duplicate', flow: flowRecord(session, existing.number, now) }
  }
  const number = insertFlow(tx, request, parentUnit)
  insertUnits(tx, { number, keeps_work: request.keepsWork ? 1 : 0 }, request.units)
  if (request.sealed) seal(tx, number)
  return { status: 'created', flow: flowRecord(session, number, now) }
}

function parentNumber(tx: StoreTransaction, parent: UnitKey | undefined): number | null {
  const flow = parent && findFlow(tx.session, parent)
  if (parent === undefined || flow === undefined) return null
  return findUnit(tx, flow.number, parent.unit)?.number ?? null
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
  const parent = parentUnit === null ? null : unitKeyOf(tx.session, parentUnit)
  if (parent !== null) tx.run(sql.insertText, number, 'parent', JSON.stringify(parent))
  return number
}

/** Adds units that are not there yet, with their messages; the answer is how many. */
function insertUnits(
  tx: StoreTransaction,
  { number, keeps_work }: Pick<FlowRow, 'number' | 'keeps_work'>,
  newUnits: readonly NewUnit[],
): number {
  let added = 0
  for (const { id, work } of newUnits) {
    if (findUnit(tx, number, id) !== undefined) continue
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
  const flow = requireFlow(tx.session, request)
  const { number } = flow
  const fresh = request.units.filter(({ id }) => findUnit(tx, number, id) === undefined)
  if (fresh.length > 0) {
    const refusal =
      refuseMore(flow) ??
      refuseAllEmitted(
        tx,
        fresh.map(({ work }) => work),
      )
    if (refusal !== undefined) throw refusal
  }
  const added = insertUnits(tx, flow, fresh)
  if (request.seal) seal(tx, number)
  const duplicates = request.units.length - added
  return { added, duplicates, flow: flowRecord(tx.session, number, tx.now) }
}

/** Those who add the same units again are not refused: they may not have heard of the first time. */
function refuseMore({ status, sealed }: FlowRow): MillraceError | undefined {
  if (status !== 'open') return new MillraceError('flow_finished')
  return sealed === 1 ? new MillraceError('flow_sealed') : undefined
}

export function sealFlow(tx: StoreTransaction, key: FlowKey): FlowRecord {
  const { number } = requireFlow(tx.session, key)
  seal(tx, number)
  return flowRecord(tx.session, number, tx.now)
}

function seal(tx: StoreTransaction, flow: number): void {
  if (flowByNumber(tx.session, flow)?.sealed === 1) return
  tx.run(sql.seal, flow)
  tx.wroteRow()
  const next = finalizeIfDone(tx, flow)
  if (next !== undefined) endUnit(tx, next)
}

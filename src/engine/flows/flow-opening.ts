/** Opens flows, adds units to them with their messages, and seals them. */

import type {
  AddedUnits,
  AddUnits,
  FlowKey,
  FlowRecord,
  NewUnit,
  OpenedFlow,
  OpenFlow,
  UnitKey,
} from '../../backends/flow-store.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { change } from '../statements.ts'
import { filtered, type Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
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
export function* openFlow(tx: Transaction, request: OpenFlow): Steps<OpenedFlow> {
  const existing = yield* findFlow(tx, request)
  if (existing !== undefined) {
    return { status: 'duplicate', flow: yield* flowRecord(tx, existing.number) }
  }
  const { parent } = request
  return yield* openNewFlow(
    tx,
    request,
    parent === undefined ? null : yield* requireParent(tx, parent),
  )
}

/** Opens a flow that does not exist, in place of a unit. */
export function* openNewFlow(
  tx: Transaction,
  request: OpenFlow,
  parentUnit: number | null,
): Steps<OpenedFlow> {
  const { finalize, failed, units, sealed } = request
  if (finalize !== undefined) yield* requireEmittable(tx, finalize)
  if (failed !== undefined) yield* requireEmittable(tx, failed)
  const number = yield* insertFlow(tx, request, parentUnit)
  yield* insertUnits(tx, { number, keeps_work: request.keepsWork ? 1 : 0 }, units)
  if (sealed) yield* seal(tx, number)
  return { status: 'created', flow: yield* flowRecord(tx, number) }
}

function* requireParent(tx: Transaction, key: UnitKey): Steps<number> {
  const flow = yield* requireFlow(tx, key)
  const { number } = yield* requireUnit(tx, flow.number, key.unit)
  if (flow.status !== 'open') throw new MillraceError('flow_finished')
  return number
}

function* insertFlow(tx: Transaction, request: OpenFlow, parentUnit: number | null): Steps<number> {
  const number = yield* tx.nextSequence()
  const { deadlineMs, finalize, failed, data } = request
  const deadlineAt = deadlineMs === undefined ? null : tx.now + deadlineMs
  yield* tx.run(
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
    parentUnit === null ? null : ((yield* unitByNumber(tx, parentUnit))?.flow ?? null),
    tx.now,
    deadlineAt,
    deadlineAt,
  )
  if (finalize !== undefined)
    yield* tx.run(sql.insertText, number, 'finalize', encodeEmitted(finalize))
  if (failed !== undefined) yield* tx.run(sql.insertText, number, 'failed', encodeEmitted(failed))
  if (data !== undefined) yield* tx.run(sql.insertText, number, 'data', data)
  const parent = parentUnit === null ? null : yield* unitKeyOf(tx, parentUnit)
  if (parent !== null) yield* tx.run(sql.insertText, number, 'parent', JSON.stringify(parent))
  return number
}

/** Adds units that are not there yet, with their messages; returns how many. */
function* insertUnits(
  tx: Transaction,
  { number, keeps_work }: Pick<FlowRow, 'number' | 'keeps_work'>,
  newUnits: readonly NewUnit[],
): Steps<number> {
  let added = 0
  for (const { id, work } of newUnits) {
    if ((yield* findUnit(tx, number, id)) !== undefined) {
      if (work !== undefined) yield* requireEmittable(tx, work)
      continue
    }
    const unit = yield* tx.nextSequence()
    const message = work === undefined ? null : yield* sendForFlow(tx, work, unit)
    yield* tx.run(sql.insertUnit, unit, number, id, work === undefined ? 0 : 1, message)
    if (work !== undefined && keeps_work === 1) yield* tx.run(keepWork, unit, encodeEmitted(work))
    added += 1
  }
  if (added > 0) yield* tx.run(sql.added, added, number)
  return added
}

export function* addUnits(tx: Transaction, request: AddUnits): Steps<AddedUnits> {
  const flow = yield* requireFlow(tx, request)
  const { number } = flow
  const fresh = yield* filtered(request.units, function* ({ id }) {
    return (yield* findUnit(tx, number, id)) === undefined
  })
  // Units that were added before are not refused: the caller may not have seen the first result.
  if (fresh.length > 0) requireMoreAllowed(flow)
  tx.renumber()
  const added = yield* insertUnits(tx, flow, fresh)
  if (request.seal) yield* seal(tx, number)
  const duplicates = request.units.length - added
  return { added, duplicates, flow: yield* flowRecord(tx, number) }
}

function requireMoreAllowed({ status, sealed }: FlowRow): void {
  if (status !== 'open') throw new MillraceError('flow_finished')
  if (sealed === 1) throw new MillraceError('flow_sealed')
}

export function* sealFlow(tx: Transaction, key: FlowKey): Steps<FlowRecord> {
  const { number } = yield* requireFlow(tx, key)
  yield* seal(tx, number)
  return yield* flowRecord(tx, number)
}

function* seal(tx: Transaction, flow: number): Steps<void> {
  if ((yield* flowByNumber(tx, flow))?.sealed === 1) return
  yield* tx.run(sql.seal, flow)
  tx.wroteRow()
  const next = yield* finalizeIfDone(tx, flow)
  if (next !== undefined) yield* endUnit(tx, next)
}

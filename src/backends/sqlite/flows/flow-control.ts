/** Changes of flows that exist: marks, starts, cancelling, resuming. */

import { MillraceError } from '../../../core/millrace-error.ts'
import type { Emitted } from '../../backend.ts'
import type { FlowKey, FlowRecord, MarkUnits, ResumeFlow, StartUnit } from '../../flow-store.ts'
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { cancelOpenFlow, endUnit, finalizeIfDone } from './flow-ends.ts'
import { type FlowRow, flowByNumber, flowRecord, requireFlow } from './flow-rows.ts'
import {
  dead,
  done,
  keepWork,
  linkMessage,
  pending,
  requireUnit,
  reviveUnit,
  type UnitRow,
  unitByNumber,
  unlinkMessage,
} from './flow-units.ts'
import { decodeEmitted, encodeEmitted, sendForFlow } from './flow-work.ts'

const sql = {
  reopen: change(`
    UPDATE flow SET
      status = 'open', ended_at = NULL, failed_unit = NULL, failure = NULL, end_message = NULL,
      done = done + ?, dead = dead + ?, overdue = coalesce(deadline_at <= ?, 0),
      look_at = CASE WHEN deadline_at > ? THEN deadline_at END
    WHERE number = ? AND status IN ('open', 'failed')`),
  readWork: query<{ work: string }>('SELECT work FROM unit_work WHERE unit = ?'),
  touchedAfter: query<UnitRow>(`
    SELECT * FROM flow_unit
    WHERE flow = ? AND number > ? AND (state <> ${pending} OR started = 1)`),
  rewind: change(`
    UPDATE flow_unit SET
      state = ${pending}, started = 0, message = NULL, marked_at = NULL, reason = NULL
    WHERE number = ?`),
}

/** Marks units. Marks of a flow that has ended are stored, and do not change the flow. */
export function markUnits(tx: StoreTransaction, request: MarkUnits): FlowRecord {
  const { number } = requireFlow(tx, request)
  for (const { unit, state, reason } of request.marks) {
    const { number: marked } = requireUnit(tx, number, unit)
    endUnit(tx, { unit: marked, state, reason: reason ?? null })
  }
  return flowRecord(tx, number)
}

/** Sends the message of a unit, unless it has had one, or the flow has ended. */
export function startUnit(tx: StoreTransaction, request: StartUnit): FlowRecord {
  const flow = requireFlow(tx, request)
  const unit = requireUnit(tx, flow.number, request.unit)
  if (mayStart(flow, unit)) sendWork(tx, flow, unit, request.work)
  else if (flow.status === 'failed' && unit.started === 0) keepWorkOf(tx, flow, unit, request.work)
  return flowRecord(tx, flow.number)
}

function mayStart(flow: FlowRow, unit: UnitRow): boolean {
  return flow.status === 'open' && unit.state === pending && unit.started === 0
}

function sendWork(tx: StoreTransaction, flow: FlowRow, unit: UnitRow, work: Emitted): void {
  linkMessage(tx, unit.number, sendForFlow(tx, work, unit.number))
  keepWorkOf(tx, flow, unit, work)
}

/** In a flow that has failed, a unit can be resumed with what it would have been started with. */
function keepWorkOf(tx: StoreTransaction, flow: FlowRow, unit: UnitRow, work: Emitted): void {
  if (flow.keeps_work === 0) return
  tx.run(keepWork, unit.number, encodeEmitted(work))
  tx.wroteRow()
}

export function cancelFlow(tx: StoreTransaction, key: FlowKey): FlowRecord {
  const flow = requireFlow(tx, key)
  if (!cancelOpenFlow(tx, flow) && flow.status !== 'cancelled') {
    throw new MillraceError('flow_finished')
  }
  return flowRecord(tx, flow.number)
}

export function resumeFlow(tx: StoreTransaction, request: ResumeFlow): FlowRecord {
  const flow = requireFlow(tx, request)
  if (flow.status !== 'open' && flow.status !== 'failed') throw new MillraceError('flow_finished')
  // Maintenance of a cancelled flow ends the flows below it, and would end this one again.
  if (isBelowCancelled(tx, flow)) {
    const message = 'The flow of which this one is a part was cancelled.'
    throw new MillraceError('flow_finished', { message })
  }
  const unit = requireUnit(tx, flow.number, request.unit)
  // It was resumed a moment ago, or it only waits for its turn.
  const isUnderWay = unit.state === pending && unit.message !== null
  const work = isUnderWay ? undefined : workOf(tx, flow, unit, request.work)
  const rewound = isUnderWay ? [] : unitsToReset(tx, flow, unit)
  for (const again of rewound) {
    unlinkMessage(tx, again)
    tx.run(sql.rewind, again.number)
  }
  const count = (state: number): number => rewound.filter((again) => again.state === state).length
  tx.run(sql.reopen, -count(done), -count(dead), tx.now, tx.now, flow.number)
  tx.wroteRow()
  if (work !== undefined) sendWork(tx, flow, unit, work)
  if (flow.parent !== null) reviveUnit(tx, flow.parent)
  const next = finalizeIfDone(tx, flow.number)
  if (next !== undefined) endUnit(tx, next)
  return flowRecord(tx, flow.number)
}

function isBelowCancelled(tx: StoreTransaction, { parent }: FlowRow): boolean {
  const unit = parent === null ? undefined : unitByNumber(tx, parent)
  const above = unit && flowByNumber(tx, unit.flow)
  return above !== undefined && (above.status === 'cancelled' || isBelowCancelled(tx, above))
}

/** The unit itself and, where units are steps that follow each other, those that came after it. */
function unitsToReset(tx: StoreTransaction, flow: FlowRow, unit: UnitRow): readonly UnitRow[] {
  if (flow.in_order === 0) return [unit]
  return [unit, ...tx.all(sql.touchedAfter, flow.number, unit.number)]
}

/**
 * A unit that never had a message needs none now: a flow may take its place, or a caller marks it. But a
 * step needs one: the step before it has ended and will not start it again.
 */
function workOf(
  tx: StoreTransaction,
  flow: FlowRow,
  unit: UnitRow,
  given: Emitted | undefined,
): Emitted | undefined {
  const kept = tx.one(sql.readWork, unit.number)
  const work = given ?? (kept === undefined ? undefined : decodeEmitted(kept.work))
  if (work === undefined) {
    if (unit.started === 0 && flow.in_order === 0) return undefined
    const allowed =
      'a message or a job: the flow remembers none, since it was opened without keepWork'
    throw MillraceError.invalid([{ field: 'work', given: 'none', allowed }])
  }
  return work
}

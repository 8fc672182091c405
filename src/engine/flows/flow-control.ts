/** Changes of flows that exist: marks, starts, cancelling, resuming. */

import type { Emitted } from '../../backends/backend.ts'
import type {
  FlowKey,
  FlowRecord,
  MarkUnits,
  ResumeFlow,
  StartUnit,
} from '../../backends/flow-store.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { change, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
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
      done = done + ?, dead = dead + ?, overdue = CASE WHEN deadline_at <= ? THEN 1 ELSE 0 END,
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
export function* markUnits(tx: Transaction, request: MarkUnits): Steps<FlowRecord> {
  const { number } = yield* requireFlow(tx, request)
  for (const { unit, state, reason } of request.marks) {
    const { number: marked } = yield* requireUnit(tx, number, unit)
    yield* endUnit(tx, { unit: marked, state, reason: reason ?? null })
  }
  return yield* flowRecord(tx, number)
}

/** Sends the message of a unit, unless it has had one, or the flow has ended. */
export function* startUnit(tx: Transaction, request: StartUnit): Steps<FlowRecord> {
  const flow = yield* requireFlow(tx, request)
  const unit = yield* requireUnit(tx, flow.number, request.unit)
  if (mayStart(flow, unit)) yield* sendWork(tx, flow, unit, request.work)
  else if (flow.status === 'failed' && unit.started === 0)
    yield* keepWorkOf(tx, flow, unit, request.work)
  return yield* flowRecord(tx, flow.number)
}

function mayStart(flow: FlowRow, unit: UnitRow): boolean {
  return flow.status === 'open' && unit.state === pending && unit.started === 0
}

function* sendWork(tx: Transaction, flow: FlowRow, unit: UnitRow, work: Emitted): Steps<void> {
  yield* linkMessage(tx, unit.number, yield* sendForFlow(tx, work, unit.number))
  yield* keepWorkOf(tx, flow, unit, work)
}

/** In a flow that has failed, a unit can be resumed with what it would have been started with. */
function* keepWorkOf(tx: Transaction, flow: FlowRow, unit: UnitRow, work: Emitted): Steps<void> {
  if (flow.keeps_work === 0) return
  yield* tx.run(keepWork, unit.number, encodeEmitted(work))
  tx.wroteRow()
}

export function* cancelFlow(tx: Transaction, key: FlowKey): Steps<FlowRecord> {
  const flow = yield* requireFlow(tx, key)
  if (!(yield* cancelOpenFlow(tx, flow)) && flow.status !== 'cancelled') {
    throw new MillraceError('flow_finished')
  }
  return yield* flowRecord(tx, flow.number)
}

export function* resumeFlow(tx: Transaction, request: ResumeFlow): Steps<FlowRecord> {
  const flow = yield* requireFlow(tx, request)
  if (flow.status !== 'open' && flow.status !== 'failed') throw new MillraceError('flow_finished')
  // Maintenance of a cancelled flow ends the flows below it, and would end this one again.
  if (yield* isBelowCancelled(tx, flow)) {
    const message = 'The flow of which this one is a part was cancelled.'
    throw new MillraceError('flow_finished', { message })
  }
  const unit = yield* requireUnit(tx, flow.number, request.unit)
  // It was resumed a moment ago, or it only waits for its turn.
  const isUnderWay = unit.state === pending && unit.message !== null
  const work = isUnderWay ? undefined : yield* workOf(tx, flow, unit, request.work)
  const rewound = isUnderWay ? [] : yield* unitsToReset(tx, flow, unit)
  for (const again of rewound) {
    yield* unlinkMessage(tx, again)
    yield* tx.run(sql.rewind, again.number)
  }
  const count = (state: number): number => rewound.filter((again) => again.state === state).length
  yield* tx.run(sql.reopen, -count(done), -count(dead), tx.now, tx.now, flow.number)
  tx.wroteRow()
  if (work !== undefined) yield* sendWork(tx, flow, unit, work)
  if (flow.parent !== null) yield* reviveUnit(tx, flow.parent)
  const next = yield* finalizeIfDone(tx, flow.number)
  if (next !== undefined) yield* endUnit(tx, next)
  return yield* flowRecord(tx, flow.number)
}

function* isBelowCancelled(tx: Transaction, { parent }: FlowRow): Steps<boolean> {
  const unit = parent === null ? undefined : yield* unitByNumber(tx, parent)
  const above = unit && (yield* flowByNumber(tx, unit.flow))
  return (
    above !== undefined && (above.status === 'cancelled' || (yield* isBelowCancelled(tx, above)))
  )
}

/** The unit itself and, where units are steps that follow each other, those that came after it. */
function* unitsToReset(tx: Transaction, flow: FlowRow, unit: UnitRow): Steps<readonly UnitRow[]> {
  if (flow.in_order === 0) return [unit]
  return [unit, ...(yield* tx.all(sql.touchedAfter, flow.number, unit.number))]
}

/**
 * A unit that never had a message needs none now: a flow may take its place, or a caller marks it. But a
 * step needs one: the step before it has ended and will not start it again.
 */
function* workOf(
  tx: Transaction,
  flow: FlowRow,
  unit: UnitRow,
  given: Emitted | undefined,
): Steps<Emitted | undefined> {
  const kept = yield* tx.one(sql.readWork, unit.number)
  const work = given ?? (kept === undefined ? undefined : decodeEmitted(kept.work))
  if (work === undefined) {
    if (unit.started === 0 && flow.in_order === 0) return undefined
    const allowed =
      'a message or a job: the flow remembers none, since it was opened without keepWork'
    throw MillraceError.invalid([{ field: 'work', given: 'none', allowed }])
  }
  return work
}

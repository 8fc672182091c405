/**
 * The end of units, and of flows with them. A unit ends in the commit in which its message ends. The last
 * one ends the flow by one statement that checks the units themselves, so a flow ends once, and no
 * count that could be wrong decides it.
 */

import type { FlowStatus } from '../../backends/flow-store.ts'
import type { MillraceError } from '../../core/millrace-error.ts'
import { refuseEmitted } from '../messages/emitting.ts'
import { change, perRow, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { type FlowRow, type FlowText, flowByNumber, readText } from './flow-rows.ts'
import {
  countUnits,
  dead,
  done,
  linkMessage,
  pending,
  releaseUnit,
  reviveUnit,
  unitByNumber,
} from './flow-units.ts'
import { decodeEmitted, sendForFlow } from './flow-work.ts'

const none = (state: number): string => `
  NOT EXISTS (SELECT 1 FROM flow_unit WHERE flow_unit.flow = flow.number AND state = ${state} ${perRow})`
const end = (status: FlowStatus): string => `
  UPDATE flow SET status = '${status}', ended_at = ?, overdue = 0`
const failed = `${end('failed')}, failed_unit = ?, failure = ?, look_at = ? + keep_ms`

const sql = {
  takeFlowOf: query<unknown>(`
    SELECT 1 /*postgres FROM flow
    WHERE number = (SELECT flow FROM flow_unit WHERE number = ?) FOR NO KEY UPDATE */`),
  clearEndMessage: change(
    'UPDATE flow SET end_message = NULL, look_at = ended_at + keep_ms WHERE number = ?',
  ),
  setEndMessage: change('UPDATE flow SET end_message = ?, look_at = ? WHERE number = ?'),
  // Maintenance looks at once: there are messages to remove.
  cancel: change(`${end('cancelled')}, look_at = ? WHERE number = ? AND status = 'open'`),
  fail: change(`
    ${end('failed')}, failure = ?, look_at = ? + keep_ms WHERE number = ? AND status = 'open'`),
  failByUnit: change(`${failed} WHERE number = ? AND status = 'open' AND policy = 'fail'`),
  finalizeAnyway: change(`
    ${end('finalized')}, sealed = 1, look_at = ? + keep_ms WHERE number = ? AND status = 'open'`),
  // The one statement that ends a flow whose units have ended; only the last of them can do it.
  finalize: change(`
    ${end('finalized')}, look_at = ? + keep_ms
    WHERE number = ? AND status = 'open' AND sealed = 1 AND ${none(pending)}
      AND (policy = 'finalize' OR ${none(dead)})`),
  markDead: change(`
    UPDATE flow_unit SET
      state = ${dead}, marked_at = ?, reason = ?, message = nullif(message, ?)
    WHERE number = ? AND state = ${pending}`),
  markDone: change(`
    UPDATE flow_unit SET
      state = ${done}, marked_at = ?, reason = NULL, message = nullif(message, ?)
    WHERE number = ? AND state <> ${done}`),
}

/** How long maintenance waits before it tries again to send the message of a flow's end. */
const endMessageRetryMs = 60_000

export interface UnitEnd {
  readonly unit: number
  readonly state: 'done' | 'dead'
  /** Why it is dead. */
  readonly reason?: string | null
  /** The message whose end this is. */
  readonly message?: number
  /** That message can still be redriven, so the unit keeps naming it. */
  readonly keepsMessage?: boolean
}

/** Marks a unit, and ends what ends with it: its flow, the parent unit of the flow, and so on. */
export function* endUnit(tx: Transaction, end: UnitEnd): Steps<void> {
  let next: UnitEnd | undefined = end
  while (next !== undefined) next = yield* markUnit(tx, next)
}

/** Returns the parent unit of this one's flow, when that ends now too. */
function* markUnit(tx: Transaction, end: UnitEnd): Steps<UnitEnd | undefined> {
  const { unit, state, reason = null, message, keepsMessage = false } = end
  // Of two last marks, the second must see the first.
  yield* tx.lockRows(sql.takeFlowOf, unit)
  const before = yield* unitByNumber(tx, unit)
  if (before === undefined) return undefined
  // Many messages may end in one step, and the end of one can give a unit of the next another message.
  if (state === 'dead' && message !== undefined && message !== before.message) return undefined
  tx.wroteRow()
  const gone = keepsMessage ? 0 : (message ?? 0)
  const isMarked =
    state === 'done'
      ? yield* tx.changed(sql.markDone, tx.now, gone, unit)
      : yield* tx.changed(sql.markDead, tx.now, reason, gone, unit)
  if (!isMarked) {
    yield* tx.run(releaseUnit, unit, gone)
    return undefined
  }
  const { flow } = before
  if (state === 'done') {
    yield* tx.run(countUnits, 1, before.state === pending ? 0 : -1, flow)
  } else {
    yield* tx.run(countUnits, 0, 1, flow)
    if (yield* tx.changed(sql.failByUnit, tx.now, before.id, reason, tx.now, flow)) {
      return yield* announceFailure(tx, flow, reason)
    }
  }
  return yield* finalizeIfDone(tx, flow)
}

/** The message of a unit was redriven and can be received again. */
export function* unitHasWorkAgain(tx: Transaction, unit: number, message: number): Steps<void> {
  yield* linkMessage(tx, unit, message)
  yield* reviveUnit(tx, unit)
}

/** Ends a flow whose units have all ended; returns the parent unit if it ends now. */
export function* finalizeIfDone(tx: Transaction, flow: number): Steps<UnitEnd | undefined> {
  if (!(yield* tx.changed(sql.finalize, tx.now, tx.now, flow))) return undefined
  return yield* announceEnd(tx, flow)
}

/** Ends a flow with what there is. */
export function* finalizeAnyway(tx: Transaction, flow: number): Steps<void> {
  if (!(yield* tx.changed(sql.finalizeAnyway, tx.now, tx.now, flow))) return
  const next = yield* announceEnd(tx, flow)
  if (next !== undefined) yield* endUnit(tx, next)
}

export function* failFlow(tx: Transaction, flow: number, reason: string): Steps<void> {
  if (!(yield* tx.changed(sql.fail, tx.now, reason, tx.now, flow))) return
  const next = yield* announceFailure(tx, flow, reason)
  if (next !== undefined) yield* endUnit(tx, next)
}

/** Ends an open flow; false when it is not open. Maintenance then removes messages that are not leased. */
export function* cancelOpenFlow(tx: Transaction, flow: FlowRow): Steps<boolean> {
  if (!(yield* cancelAlone(tx, flow.number))) return false
  const parent = yield* parentUnit(tx, flow)
  const reason = 'The child flow of the unit was cancelled.'
  if (parent !== null) yield* endUnit(tx, { unit: parent, state: 'dead', reason })
  return true
}

/** The same, and nothing else ends with it now. */
export function* cancelAlone(tx: Transaction, flow: number): Steps<boolean> {
  tx.wroteRow()
  return yield* tx.changed(sql.cancel, tx.now, tx.now, flow)
}

/** The message of a flow's end could not be sent, and never will be: its parent unit is dead. */
export function* abandonEndMessage(tx: Transaction, flow: FlowRow): Steps<void> {
  const parent = flow.end_message === 'finalize' ? yield* parentUnit(tx, flow) : null
  if (parent === null) return
  const reason = 'The queue refused the end message of the child flow of the unit.'
  yield* endUnit(tx, { unit: parent, state: 'dead', reason })
}

/**
 * The unit that ends with the flow. A chain that was resumed may have reset the step since. Then the step
 * has no message, or one of its own, and does not end with the flow until that message hands it over
 * again.
 */
function* parentUnit(tx: Transaction, row: FlowRow | undefined): Steps<number | null> {
  const parent = row?.parent ?? null
  const unit = parent === null ? undefined : yield* unitByNumber(tx, parent)
  if (unit === undefined) return parent
  const isStep = (yield* flowByNumber(tx, unit.flow))?.in_order === 1
  return isStep && (unit.started === 0 || unit.message !== null) ? null : parent
}

/**
 * The message of the end works on the parent unit, so that unit is done when the message is
 * acknowledged. Without such a message it is done now.
 */
export function* announceEnd(tx: Transaction, flow: number): Steps<UnitEnd | undefined> {
  tx.wroteRow()
  const parent = yield* parentUnit(tx, yield* flowByNumber(tx, flow))
  const isToBeSent = yield* sendEnd(tx, { flow, kind: 'finalize', parent })
  return isToBeSent || parent === null ? undefined : { unit: parent, state: 'done' }
}

function* announceFailure(
  tx: Transaction,
  flow: number,
  why: string | null,
): Steps<UnitEnd | undefined> {
  tx.wroteRow()
  yield* sendEnd(tx, { flow, kind: 'failed', parent: null })
  const parent = yield* parentUnit(tx, yield* flowByNumber(tx, flow))
  if (parent === null) return undefined
  const reason = 'The child flow of the unit has failed.'
  return { unit: parent, state: 'dead', reason: why === null ? reason : `${reason} ${why}` }
}

interface End {
  readonly flow: number
  readonly kind: Extract<FlowText, 'finalize' | 'failed'>
  /** The unit that the message works on. */
  readonly parent: number | null
}

/** False when the flow has no message for this end. A message that its queue refuses is retried later. */
function* sendEnd(tx: Transaction, end: End): Steps<boolean> {
  const text = yield* readText(tx, end.flow, end.kind)
  if (text === undefined) return false
  if ((yield* trySending(tx, end, text)) !== undefined) {
    yield* tx.run(sql.setEndMessage, end.kind, tx.now + endMessageRetryMs, end.flow)
  }
  return true
}

function* trySending(tx: Transaction, end: End, text: string): Steps<MillraceError | undefined> {
  const emission = decodeEmitted(text)
  const refusal = yield* refuseEmitted(tx, emission)
  if (refusal !== undefined) return refusal
  const unit = end.parent ?? undefined
  const sequence = yield* sendForFlow(tx, emission, unit)
  if (unit !== undefined) yield* linkMessage(tx, unit, sequence)
  return undefined
}

/** Sends the pending message of a flow's end, if its queue takes it now. */
export function* retryEndMessage(tx: Transaction, flow: FlowRow): Steps<void> {
  tx.wroteRow()
  const { number, end_message: kind } = flow
  const text = kind === null ? undefined : yield* readText(tx, number, kind)
  if (kind !== null && text !== undefined) {
    const parent = kind === 'finalize' ? yield* parentUnit(tx, flow) : null
    const end: End = { flow: number, kind, parent }
    if ((yield* trySending(tx, end, text)) !== undefined) {
      yield* tx.run(sql.setEndMessage, kind, tx.now + endMessageRetryMs, number)
      return
    }
  }
  yield* tx.run(sql.clearEndMessage, number)
}

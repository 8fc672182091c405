/**
 * The end of units, and of flows with them. A unit ends where its message does, in the same commit; the
 * last one ends the flow by one statement that asks the units themselves, so there is one such end,
 * and no count that could be wrong decides it.
 */
import type { MillraceError } from '../../../core/millrace-error.ts'
import { changed } from '../driver/rows.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { type FlowRow, type FlowText, flowByNumber, readText } from './flow-rows.ts'
import { linkMessage, pending, reviveUnit, unitByNumber } from './flow-units.ts'
import { decodeEmission, refuseEmission, sendForFlow } from './flow-work.ts'

/** How long upkeep waits before it tries again to send the message of a flow's end. */
const owedMs = 60_000

export interface UnitEnd {
  readonly unit: number
  readonly state: 'done' | 'dead'
  /** Why it is given up. */
  readonly reason?: string | null
  /** The message whose end this is. */
  readonly message?: number
  /** That message can still be moved back, so the unit goes on naming it. */
  readonly keepsMessage?: boolean
}

/** Marks a unit, and ends what ends with it: its flow, the unit that the flow stood for, and so on. */
export function endUnit(tx: StoreTransaction, end: UnitEnd): void {
  let next: UnitEnd | undefined = end
  while (next !== undefined) next = markUnit(tx, next)
}

/** The answer is the unit that this one's flow stood for, when that ends now too. */
function markUnit(tx: StoreTransaction, end: UnitEnd): UnitEnd | undefined {
  const { units, flows } = tx.session
  const { unit, state, reason = null, message, keepsMessage = false } = end
  const before = unitByNumber(tx, unit)
  if (before === undefined) return undefined
  // Many messages may end in one step, and the end of one can give a unit of the next another message.
  if (state === 'dead' && message !== undefined && message !== before.message) return undefined
  tx.wroteRow()
  const gone = keepsMessage ? 0 : (message ?? 0)
  const isMarked =
    state === 'done'
      ? changed(units.markDone, tx.now, gone, unit)
      : changed(units.markDead, tx.now, reason, gone, unit)
  if (!isMarked) {
    units.release.run(unit, gone)
    return undefined
  }
  const { flow } = before
  if (state === 'done') {
    flows.count.run(1, before.state === pending ? 0 : -1, flow)
  } else {
    flows.count.run(0, 1, flow)
    if (changed(flows.failByUnit, tx.now, before.id, reason, tx.now, flow)) {
      return announceFailure(tx, flow, reason)
    }
  }
  return finalizeIfDone(tx, flow)
}

/** The message of a unit goes on elsewhere: it was moved back to where it can be received. */
export function unitHasWorkAgain(tx: StoreTransaction, unit: number, message: number): void {
  linkMessage(tx, unit, message)
  reviveUnit(tx, unit)
}

/** Ends a flow whose units have all ended; the answer is the unit that ends with it. */
export function finalizeIfDone(tx: StoreTransaction, flow: number): UnitEnd | undefined {
  if (!changed(tx.session.flows.finalize, tx.now, tx.now, flow)) return undefined
  return announceEnd(tx, flow)
}

/** Ends a flow with what there is. */
export function finalizeAnyway(tx: StoreTransaction, flow: number): void {
  if (!changed(tx.session.flows.finalizeAnyway, tx.now, tx.now, flow)) return
  const next = announceEnd(tx, flow)
  if (next !== undefined) endUnit(tx, next)
}

export function failFlow(tx: StoreTransaction, flow: number, reason: string): void {
  if (!changed(tx.session.flows.fail, tx.now, reason, tx.now, flow)) return
  const next = announceFailure(tx, flow, reason)
  if (next !== undefined) endUnit(tx, next)
}

/** Ends an open flow; false when it is not open. Upkeep then takes back what nobody holds. */
export function cancelOpenFlow(tx: StoreTransaction, flow: FlowRow): boolean {
  if (!cancelAlone(tx, flow.number)) return false
  const parent = standsFor(tx, flow)
  const reason = 'The flow that stands for it was cancelled.'
  if (parent !== null) endUnit(tx, { unit: parent, state: 'dead', reason })
  return true
}

/** The same, and nothing else ends with it now. */
export function cancelAlone(tx: StoreTransaction, flow: number): boolean {
  tx.wroteRow()
  return changed(tx.session.flows.cancel, tx.now, tx.now, flow)
}

/** Nobody could be told of the end of a flow, and nobody will be: what waits for that is given up. */
export function giveUpWhatIsOwed(tx: StoreTransaction, flow: FlowRow): void {
  const parent = flow.owes === 'finalize' ? standsFor(tx, flow) : null
  if (parent === null) return
  const reason = 'The queue did not take the message of the end of the flow that stands for it.'
  endUnit(tx, { unit: parent, state: 'dead', reason })
}

/**
 * The unit that ends with the flow. A step of a chain may have been taken back since, when the chain was
 * resumed: then it has no message yet or one of its own, and does not hear of the flow before that
 * message lets the flow stand for it once more.
 */
function standsFor(tx: StoreTransaction, row: FlowRow | undefined): number | null {
  const parent = row?.parent ?? null
  const unit = parent === null ? undefined : unitByNumber(tx, parent)
  if (unit === undefined) return parent
  const isStep = flowByNumber(tx.session, unit.flow)?.in_order === 1
  return isStep && (unit.started === 0 || unit.message !== null) ? null : parent
}

/**
 * The message of the end works on the unit that the flow stands for, so that unit is done when somebody
 * has acknowledged it. Without such a message it is done now.
 */
export function announceEnd(tx: StoreTransaction, flow: number): UnitEnd | undefined {
  tx.wroteRow()
  const parent = standsFor(tx, flowByNumber(tx.session, flow))
  const isToBeSent = sendEnd(tx, { flow, kind: 'finalize', parent })
  return isToBeSent || parent === null ? undefined : { unit: parent, state: 'done' }
}

function announceFailure(
  tx: StoreTransaction,
  flow: number,
  why: string | null,
): UnitEnd | undefined {
  tx.wroteRow()
  sendEnd(tx, { flow, kind: 'failed', parent: null })
  const parent = standsFor(tx, flowByNumber(tx.session, flow))
  if (parent === null) return undefined
  const reason = 'The flow that stands for it has failed.'
  return { unit: parent, state: 'dead', reason: why === null ? reason : `${reason} ${why}` }
}

interface End {
  readonly flow: number
  readonly kind: Extract<FlowText, 'finalize' | 'failed'>
  /** The unit that the message works on. */
  readonly parent: number | null
}

/** False when nobody is to hear of the end. Who cannot be told now is told later, by upkeep. */
function sendEnd(tx: StoreTransaction, end: End): boolean {
  const text = readText(tx.session, end.flow, end.kind)
  if (text === undefined) return false
  if (trySending(tx, end, text) !== undefined) {
    tx.session.flows.owe.run(end.kind, tx.now + owedMs, end.flow)
  }
  return true
}

function trySending(tx: StoreTransaction, end: End, text: string): MillraceError | undefined {
  const emission = decodeEmission(text)
  const refusal = refuseEmission(tx, emission)
  if (refusal !== undefined) return refusal
  const unit = end.parent ?? undefined
  const sequence = sendForFlow(tx, emission, unit)
  if (unit !== undefined) linkMessage(tx, unit, sequence)
  return undefined
}

/** Sends the message that a flow has owed since its end, if its queue takes it now. */
export function payWhatIsOwed(tx: StoreTransaction, flow: FlowRow): void {
  tx.wroteRow()
  const { number, owes } = flow
  const text = owes === null ? undefined : readText(tx.session, number, owes)
  if (owes !== null && text !== undefined) {
    const parent = owes === 'finalize' ? standsFor(tx, flow) : null
    const end: End = { flow: number, kind: owes, parent }
    if (trySending(tx, end, text) !== undefined) {
      tx.session.flows.owe.run(owes, tx.now + owedMs, number)
      return
    }
  }
  tx.session.flows.paid.run(number)
}

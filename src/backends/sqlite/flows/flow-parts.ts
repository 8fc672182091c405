/** What a settlement does to flows: opens them, marks their units, starts units, ends its own. */

import { MillraceError } from '../../../core/millrace-error.ts'
import type { Settlement } from '../../backend.ts'
import type { EmittedFlow, EmittedStart, FlowKey } from '../../flow-store.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { markUnits, startUnit } from './flow-control.ts'
import { announceEnd, endUnit, type UnitEnd } from './flow-ends.ts'
import { openFlow, openNewFlow } from './flow-opening.ts'
import { type FlowRow, findFlow, flowByNumber, requireFlow } from './flow-rows.ts'
import { releaseUnit, requireUnit, unitByNumber, unitKeyOf } from './flow-units.ts'

/** The message that was acknowledged, and the unit that it worked on. */
interface Worked {
  readonly unit: number | null
  readonly message: number
}

const none: readonly never[] = []

/** Stores the parts, and marks the unit whose message was acknowledged. Throws when one is refused. */
export function storeFlowParts(
  tx: StoreTransaction,
  { flows = none, marks = none, starts = none }: Settlement,
  { unit, message }: Worked,
): void {
  let end: UnitEnd | undefined = unit === null ? undefined : { unit, state: 'done', message }
  const takeovers = flows.filter(({ takesOver }) => takesOver)
  for (const flow of flows) {
    if (flow.takesOver) end = takeOver(tx, flow, { unit, message })
    else openFlow(tx, flow)
  }
  // A flow that was to take over from a flow that was cancelled meanwhile was not opened.
  const wasLeftOut = ({ flow, id }: FlowKey): boolean =>
    takeovers.some((one) => one.flow === flow && one.id === id) &&
    findFlow(tx, { flow, id }) === undefined
  for (const request of starts) {
    if (wasLeftOut(request)) continue
    requireUnit(tx, requireFlow(tx, request).number, request.unit)
    if (stillFollows(tx, request, unit)) startUnit(tx, request)
  }
  for (const request of marks) if (!wasLeftOut(request)) markUnits(tx, request)
  if (end !== undefined) endUnit(tx, end)
}

/** Whether the message that was acknowledged still worked on the unit that the start follows. */
function stillFollows(
  tx: StoreTransaction,
  { flow, id, follows }: EmittedStart,
  unit: number | null,
): boolean {
  if (follows === undefined) return true
  const worked = unit === null ? null : unitKeyOf(tx, unit)
  return worked?.flow === flow && worked.id === id && worked.unit === follows
}

/** Opens a flow in place of the unit; returns how the unit ends now, if it does. */
function takeOver(
  tx: StoreTransaction,
  flow: EmittedFlow,
  { unit, message }: Worked,
): UnitEnd | undefined {
  if (unit === null || unitByNumber(tx, unit) === undefined) {
    const allowed = 'that only for a message that works on a unit'
    throw MillraceError.invalid([{ field: 'flows.takesOver', given: 'true', allowed }])
  }
  tx.run(releaseUnit, unit, message)
  const existing = findFlow(tx, flow)
  if (existing !== undefined) return endOfTakenOver(tx, existing, unit)
  if (flowOf(tx, unit)?.status === 'cancelled') {
    return { unit, state: 'dead', reason: 'The flow was cancelled.' }
  }
  openNewFlow(tx, flow, unit)
  return undefined
}

/** The unit was retried, and finds the flow that took its place the first time. */
function endOfTakenOver(
  tx: StoreTransaction,
  { number, status, parent, end_message: pendingMessage }: FlowRow,
  unit: number,
): UnitEnd | undefined {
  if (parent !== unit) {
    const given = 'an existing flow with another parent unit'
    throw MillraceError.invalid([{ field: 'flows.id', given, allowed: 'a new flow' }])
  }
  if (status === 'open') return undefined
  if (status !== 'finalized') {
    const how = status === 'failed' ? 'has failed' : 'was cancelled'
    return { unit, state: 'dead', reason: `The child flow of the unit ${how}.` }
  }
  const isAwaited = pendingMessage !== null || unitByNumber(tx, unit)?.message !== null
  if (isAwaited) return undefined
  // The next step gets the result of the handler of that end, so that handler must run again.
  return flowOf(tx, unit)?.in_order === 1 ? announceEnd(tx, number) : { unit, state: 'done' }
}

function flowOf(tx: StoreTransaction, unit: number): FlowRow | undefined {
  const row = unitByNumber(tx, unit)
  return row === undefined ? undefined : flowByNumber(tx, row.flow)
}

/** What a settlement does to flows: opens them, marks their units, starts units, ends its own. */

import type { Settlement } from '../../backends/backend.ts'
import type { EmittedFlow, EmittedStart, FlowKey } from '../../backends/flow-store.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
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
export function* storeFlowParts(
  tx: Transaction,
  { flows = none, marks = none, starts = none }: Settlement,
  { unit, message }: Worked,
): Steps<void> {
  let end: UnitEnd | undefined = unit === null ? undefined : { unit, state: 'done', message }
  const takeovers = flows.filter(({ takesOver }) => takesOver)
  for (const flow of flows) {
    if (flow.takesOver) end = yield* takeOver(tx, flow, { unit, message })
    else yield* openFlow(tx, flow)
  }
  // A flow that was to take over from a flow that was cancelled meanwhile was not opened.
  const wasLeftOut = function* ({ flow, id }: FlowKey): Steps<boolean> {
    const isTakeover = takeovers.some((one) => one.flow === flow && one.id === id)
    return isTakeover && (yield* findFlow(tx, { flow, id })) === undefined
  }
  for (const request of starts) {
    if (yield* wasLeftOut(request)) continue
    yield* requireUnit(tx, (yield* requireFlow(tx, request)).number, request.unit)
    if (yield* stillFollows(tx, request, unit)) yield* startUnit(tx, request)
  }
  for (const request of marks) if (!(yield* wasLeftOut(request))) yield* markUnits(tx, request)
  if (end !== undefined) yield* endUnit(tx, end)
}

/** Whether the message that was acknowledged still worked on the unit that the start follows. */
function* stillFollows(
  tx: Transaction,
  { flow, id, follows }: EmittedStart,
  unit: number | null,
): Steps<boolean> {
  if (follows === undefined) return true
  const worked = unit === null ? null : yield* unitKeyOf(tx, unit)
  return worked?.flow === flow && worked.id === id && worked.unit === follows
}

/** Opens a flow in place of the unit; returns how the unit ends now, if it does. */
function* takeOver(
  tx: Transaction,
  flow: EmittedFlow,
  { unit, message }: Worked,
): Steps<UnitEnd | undefined> {
  if (unit === null || (yield* unitByNumber(tx, unit)) === undefined) {
    const allowed = 'that only for a message that works on a unit'
    throw MillraceError.invalid([{ field: 'flows.takesOver', given: 'true', allowed }])
  }
  yield* tx.run(releaseUnit, unit, message)
  const existing = yield* findFlow(tx, flow)
  if (existing !== undefined) return yield* endOfTakenOver(tx, existing, unit)
  if ((yield* flowOf(tx, unit))?.status === 'cancelled') {
    return { unit, state: 'dead', reason: 'The flow was cancelled.' }
  }
  yield* openNewFlow(tx, flow, unit)
  return undefined
}

/** The unit was retried, and finds the flow that took its place the first time. */
function* endOfTakenOver(
  tx: Transaction,
  { number, status, parent, end_message: pendingMessage }: FlowRow,
  unit: number,
): Steps<UnitEnd | undefined> {
  if (parent !== unit) {
    const given = 'an existing flow with another parent unit'
    throw MillraceError.invalid([{ field: 'flows.id', given, allowed: 'a new flow' }])
  }
  if (status === 'open') return undefined
  if (status !== 'finalized') {
    const how = status === 'failed' ? 'has failed' : 'was cancelled'
    return { unit, state: 'dead', reason: `The child flow of the unit ${how}.` }
  }
  const isAwaited = pendingMessage !== null || (yield* unitByNumber(tx, unit))?.message !== null
  if (isAwaited) return undefined
  // The next step gets the result of the handler of that end, so that handler must run again.
  return (yield* flowOf(tx, unit))?.in_order === 1
    ? yield* announceEnd(tx, number)
    : { unit, state: 'done' }
}

function* flowOf(tx: Transaction, unit: number): Steps<FlowRow | undefined> {
  const row = yield* unitByNumber(tx, unit)
  return row === undefined ? undefined : yield* flowByNumber(tx, row.flow)
}

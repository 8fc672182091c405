/** What a settlement does to flows: opens them, marks their units, starts units, ends its own. */

import { MillraceError } from '../../../core/millrace-error.ts'
import type { Settlement } from '../../backend.ts'
import type { EmittedFlow, EmittedStart, FlowKey, OpenFlow, UnitKey } from '../../flow-store.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import type { MessageRow } from '../messages/message-rows.ts'
import { markUnits, refuseMarks, refuseStart, startUnit } from './flow-control.ts'
import { announceEnd, endUnit, type UnitEnd } from './flow-ends.ts'
import { openFlow, refuseOpening } from './flow-opening.ts'
import { type FlowRow, findFlow, flowByNumber } from './flow-rows.ts'
import { releaseUnit, unitByNumber, unitKeyOf } from './flow-units.ts'
import { refuseEmitted } from './flow-work.ts'

/** What keeps the parts from being stored, found before anything changes. */
export function refuseFlowParts(
  tx: StoreTransaction,
  { flows = none, marks = none, starts = none }: Settlement,
  findMessage: () => MessageRow | undefined,
): MillraceError | undefined {
  for (const flow of flows) {
    const refusal = refuseOpening(tx, flow) ?? refuseTakeover(tx, flow, findMessage)
    if (refusal !== undefined) return refusal
  }
  const opened = flows.filter((flow) => findFlow(tx.session, flow) === undefined)
  for (const request of marks) {
    const isOpened = request.marks.every(({ unit }) => isIn(opened, { ...request, unit }))
    const refusal = isOpened ? undefined : refuseMarks(tx, request)
    if (refusal !== undefined) return refusal
  }
  for (const request of starts) {
    const isOpened = isIn(opened, request)
    const refusal = isOpened ? refuseEmitted(tx, request.work) : refuseStart(tx, request)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

const none: readonly never[] = []

/** Whether the unit is one of a flow that is opened by the same settlement. */
function isIn(flows: readonly OpenFlow[], { flow, id, unit }: UnitKey): boolean {
  return flows.some(
    (opened) =>
      opened.flow === flow && opened.id === id && opened.units.some(({ id: own }) => own === unit),
  )
}

function refuseTakeover(
  tx: StoreTransaction,
  flow: EmittedFlow,
  findMessage: () => MessageRow | undefined,
): MillraceError | undefined {
  if (!flow.takesOver) return undefined
  const message = findMessage()
  // Without a message there is no lease either, and that will be the answer.
  if (message === undefined) return undefined
  if (message.unit === null || unitByNumber(tx, message.unit) === undefined) {
    const allowed = 'that only for a message that works on a unit'
    return MillraceError.invalid([{ field: 'flows.takesOver', given: 'true', allowed }])
  }
  const existing = findFlow(tx.session, flow)
  if (existing === undefined || existing.parent === message.unit) return undefined
  const given = 'a flow that is there already and does not stand for this unit'
  return MillraceError.invalid([{ field: 'flows.id', given, allowed: 'a new flow' }])
}

/** The message that was acknowledged, and the unit that it worked on. */
interface Worked {
  readonly unit: number | null
  readonly message: number
}

/** Stores what was not refused, and marks the unit whose message was acknowledged. */
export function storeFlowParts(
  tx: StoreTransaction,
  { flows, marks, starts }: Settlement,
  { unit, message }: Worked,
): void {
  let end: UnitEnd | undefined = unit === null ? undefined : { unit, state: 'done', message }
  for (const flow of flows ?? none) {
    if (flow.takesOver && unit !== null) end = takeOver(tx, flow, { unit, message })
    else openFlow(tx, flow)
  }
  // One that was to take over from a flow that was cancelled meanwhile is not there.
  const isThere = (key: FlowKey): boolean => findFlow(tx.session, key) !== undefined
  for (const request of starts ?? none) {
    if (isThere(request) && isItsTurn(tx, request, unit)) startUnit(tx, request)
  }
  for (const request of marks ?? none) if (isThere(request)) markUnits(tx, request)
  if (end !== undefined) endUnit(tx, end)
}

/** Whether the message that was acknowledged still worked on the unit that the start follows. */
function isItsTurn(
  tx: StoreTransaction,
  { flow, id, follows }: EmittedStart,
  unit: number | null,
): boolean {
  if (follows === undefined) return true
  const worked = unit === null ? null : unitKeyOf(tx.session, unit)
  return worked?.flow === flow && worked.id === id && worked.unit === follows
}

/** Lets a flow stand for the unit; the answer is how the unit ends now, if it does. */
function takeOver(
  tx: StoreTransaction,
  flow: EmittedFlow,
  { unit, message }: { readonly unit: number; readonly message: number },
): UnitEnd | undefined {
  tx.run(releaseUnit, unit, message)
  const existing = findFlow(tx.session, flow)
  if (existing !== undefined) return endOfTakenOver(tx, existing, unit)
  if (flowOf(tx, unit)?.status === 'cancelled') {
    // There is nobody left to do it for.
    return { unit, state: 'dead', reason: 'The flow was cancelled.' }
  }
  openFlow(tx, flow, unit)
  return undefined
}

/** The unit was tried again, and meets the flow that stood for it the first time. */
function endOfTakenOver(
  tx: StoreTransaction,
  { number, status, end_message: pendingMessage }: FlowRow,
  unit: number,
): UnitEnd | undefined {
  if (status === 'open') return undefined
  if (status !== 'finalized') {
    const how = status === 'failed' ? 'has failed' : 'was cancelled'
    return { unit, state: 'dead', reason: `The flow that stands for it ${how}.` }
  }
  const isAwaited = pendingMessage !== null || unitByNumber(tx, unit)?.message !== null
  if (isAwaited) return undefined
  // The step after this one is given what the handler of that end answers, so it has to answer again.
  return flowOf(tx, unit)?.in_order === 1 ? announceEnd(tx, number) : { unit, state: 'done' }
}

function flowOf(tx: StoreTransaction, unit: number): FlowRow | undefined {
  const row = unitByNumber(tx, unit)
  return row === undefined ? undefined : flowByNumber(tx.session, row.flow)
}

/**
 * Maintenance of flows, in slices of the sweep: deadlines pass, messages of cancelled flows are removed,
 * pending end messages are sent, and flows that ended long ago are removed with their units.
 */
import { forgetFlowSpending } from '../budgets/spending.ts'
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { finishJob } from '../jobs/job-history.ts'
import { leased, unleasedToken } from '../messages/message-rows.ts'
import { messageRemoved, type RemovedRow } from '../messages/removing.ts'
import {
  abandonEndMessage,
  cancelAlone,
  endUnit,
  failFlow,
  finalizeAnyway,
  retryEndMessage,
} from './flow-ends.ts'
import type { FlowRow } from './flow-rows.ts'
import { pending, type UnitRow } from './flow-units.ts'

/** Flows checked, units ended and units removed in one slice. */
const flowSlice = 50
const cancelSlice = 100
const discardSlice = 500

/** How long a cancelled flow waits before it looks again for messages that were leased. */
const lookAgainMs = 5_000

const sql = {
  due: query<FlowRow>(`
    SELECT * FROM flow WHERE look_at <= ? ORDER BY look_at LIMIT ${flowSlice}`),
  walkOn: change('UPDATE flow SET swept = ?, look_at = ? WHERE number = ?'),
  lookAfterEnd: change('UPDATE flow SET look_at = ended_at + keep_ms WHERE number = ?'),
  overdue: change(`
    UPDATE flow SET overdue = 1, look_at = NULL WHERE number = ? AND status = 'open'`),
  pendingAfter: query<UnitRow>(`
    SELECT * FROM flow_unit
    WHERE flow = ? AND state = ${pending} AND number > ? ORDER BY number LIMIT ${cancelSlice}`),
  children: query<FlowRow>(`
    SELECT * FROM flow WHERE parent_flow = ? AND status = 'open' LIMIT ${cancelSlice}`),
  // A message of a queue that was purged or deleted ends with the queue's others.
  messageOf: query<HeldRow>(`
    SELECT sequence, state, token, due_at, queue.name AS queue
    FROM message JOIN queue ON queue.generation = message.generation
    WHERE sequence = ? AND unit = ?`),
  removeMessage: query<RemovedRow>(`
    DELETE FROM message WHERE sequence = ? AND unit = ?
    RETURNING sequence, state, group_name, body IS NULL AS apart`),
  remove: change('DELETE FROM flow WHERE number = ?'),
  removeTexts: change('DELETE FROM flow_text WHERE flow = ?'),
  discard: change('INSERT INTO discarded_flow (number) VALUES (?)'),
  discarded: query<{ number: number }>('SELECT number FROM discarded_flow LIMIT 1'),
  discardedUnits: query<{ number: number }>(`
    SELECT number FROM flow_unit WHERE flow = ? LIMIT ${discardSlice}`),
  removeUnit: change('DELETE FROM flow_unit WHERE number = ?'),
  removeWork: change('DELETE FROM unit_work WHERE unit = ?'),
  forget: change('DELETE FROM discarded_flow WHERE number = ?'),
}

export interface FlowMaintenance {
  readonly changed: number
  readonly more: boolean
}

/** One slice of all that is due. */
export function maintainFlows(tx: StoreTransaction): FlowMaintenance {
  const due = tx.all(sql.due, tx.now)
  let taken = 0
  for (const flow of due) {
    if (taken >= cancelSlice) break
    taken += maintainFlow(tx, flow)
  }
  const removed = removeDiscardedUnits(tx)
  // A cancelled flow has made others due, or has more units to end.
  const more = removed > 0 || (taken > 0 && tx.one(sql.due, tx.now) !== undefined)
  return { changed: removed + taken, more }
}

/** Returns how many rows it changed. */
function maintainFlow(tx: StoreTransaction, flow: FlowRow): number {
  tx.wroteRow()
  if (flow.status === 'open') return passDeadline(tx, flow)
  // However late it is: work on messages of a flow that is gone would be wasted.
  if (flow.status === 'cancelled' && hasCancelledWork(tx, flow))
    return removeCancelledWork(tx, flow)
  if ((flow.ended_at ?? 0) + flow.keep_ms <= tx.now) return discard(tx, flow)
  retryEndMessage(tx, flow)
  return 1
}

function passDeadline(tx: StoreTransaction, { number, on_deadline }: FlowRow): number {
  if (on_deadline === 'fail') failFlow(tx, number, 'It was not done at its deadline.')
  else if (on_deadline === 'finalize') finalizeAnyway(tx, number)
  else tx.run(sql.overdue, number)
  return 1
}

function hasCancelledWork(tx: StoreTransaction, { number }: FlowRow): boolean {
  return (
    tx.one(sql.pendingAfter, number, 0) !== undefined || tx.one(sql.children, number) !== undefined
  )
}

/** Cancels the flows below a cancelled one, then ends units whose messages are not leased. */
function removeCancelledWork(tx: StoreTransaction, { number, swept }: FlowRow): number {
  const open = tx.all(sql.children, number)
  for (const child of open) cancelAlone(tx, child.number)
  if (open.length === cancelSlice) return open.length
  const units = tx.all(sql.pendingAfter, number, swept)
  for (const unit of units) endCancelledUnit(tx, unit)
  const last = units.at(-1)
  if (units.length === cancelSlice && last !== undefined)
    tx.run(sql.walkOn, last.number, tx.now, number)
  else if (tx.one(sql.pendingAfter, number, 0) === undefined) tx.run(sql.lookAfterEnd, number)
  else tx.run(sql.walkOn, 0, tx.now + lookAgainMs, number)
  return units.length + 1
}

function endCancelledUnit(tx: StoreTransaction, { number, message }: UnitRow): void {
  const isTaken = message === null || removeUnheld(tx, number, message)
  if (!isTaken) return
  const reason = 'The flow was cancelled.'
  endUnit(tx, { unit: number, state: 'dead', reason, ...(message !== null && { message }) })
}

/** Removes the message of a unit, unless it is leased or goes with its queue. */
function removeUnheld(tx: StoreTransaction, unit: number, sequence: number): boolean {
  const row = tx.one(sql.messageOf, sequence, unit)
  if (row === undefined) return false
  const isHeld = row.state === leased && row.token !== unleasedToken && row.due_at > tx.now
  if (isHeld) return false
  const queue = tx.queue(row.queue)
  finishJob(tx, sequence, { queue: queue.name, status: 'cancelled' })
  const removed = tx.one(sql.removeMessage, sequence, unit)
  if (removed !== undefined) messageRemoved(tx, queue, removed)
  return true
}

interface HeldRow {
  readonly state: number
  readonly token: number
  readonly due_at: number
  readonly queue: string
}

/** The flow is gone at once; its units are removed after it. */
function discard(tx: StoreTransaction, flow: FlowRow): number {
  const { number } = flow
  abandonEndMessage(tx, flow)
  tx.run(sql.remove, number)
  tx.run(sql.removeTexts, number)
  tx.run(forgetFlowSpending, number)
  tx.run(sql.discard, number)
  return 1
}

function removeDiscardedUnits(tx: StoreTransaction): number {
  const found = tx.one(sql.discarded)
  if (found === undefined) return 0
  tx.wroteRow()
  const units = tx.all(sql.discardedUnits, found.number)
  for (const { number } of units) {
    tx.run(sql.removeUnit, number)
    tx.run(sql.removeWork, number)
  }
  if (units.length < discardSlice) tx.run(sql.forget, found.number)
  return units.length + 1
}

/**
 * Maintenance of flows, in slices of the sweep: deadlines pass, messages of cancelled flows are removed,
 * pending end messages are sent, and flows that ended long ago are removed with their units.
 */

import { forgetFlowSpending } from '../budgets/spending.ts'
import { finishJob } from '../jobs/job-history.ts'
import { leased, unleasedToken } from '../messages/message-rows.ts'
import { messageRemoved, type RemovedRow } from '../messages/removing.ts'
import { change, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
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
    SELECT * FROM flow WHERE look_at <= ? ORDER BY look_at, number LIMIT ${flowSlice}
    /*postgres FOR NO KEY UPDATE SKIP LOCKED */`),
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
export function* maintainFlows(tx: Transaction): Steps<FlowMaintenance> {
  const due = yield* tx.all(sql.due, tx.now)
  let taken = 0
  for (const flow of due) {
    if (taken >= cancelSlice) break
    taken += yield* maintainFlow(tx, flow)
  }
  const removed = yield* removeDiscardedUnits(tx)
  // A cancelled flow has made others due, or has more units to end.
  const more = removed > 0 || (taken > 0 && (yield* tx.one(sql.due, tx.now)) !== undefined)
  return { changed: removed + taken, more }
}

/** Returns how many rows it changed. */
function* maintainFlow(tx: Transaction, flow: FlowRow): Steps<number> {
  tx.wroteRow()
  if (flow.status === 'open') return yield* passDeadline(tx, flow)
  // However late it is: work on messages of a flow that is gone would be wasted.
  if (flow.status === 'cancelled' && (yield* hasCancelledWork(tx, flow)))
    return yield* removeCancelledWork(tx, flow)
  if ((flow.ended_at ?? 0) + flow.keep_ms <= tx.now) return yield* discard(tx, flow)
  yield* retryEndMessage(tx, flow)
  return 1
}

function* passDeadline(tx: Transaction, { number, on_deadline }: FlowRow): Steps<number> {
  if (on_deadline === 'fail') yield* failFlow(tx, number, 'It was not done at its deadline.')
  else if (on_deadline === 'finalize') yield* finalizeAnyway(tx, number)
  else yield* tx.run(sql.overdue, number)
  return 1
}

function* hasCancelledWork(tx: Transaction, { number }: FlowRow): Steps<boolean> {
  return (
    (yield* tx.one(sql.pendingAfter, number, 0)) !== undefined ||
    (yield* tx.one(sql.children, number)) !== undefined
  )
}

/** Cancels the flows below a cancelled one, then ends units whose messages are not leased. */
function* removeCancelledWork(tx: Transaction, { number, swept }: FlowRow): Steps<number> {
  const open = yield* tx.all(sql.children, number)
  for (const child of open) yield* cancelAlone(tx, child.number)
  if (open.length === cancelSlice) return open.length
  const units = yield* tx.all(sql.pendingAfter, number, swept)
  for (const unit of units) yield* endCancelledUnit(tx, unit)
  const last = units.at(-1)
  if (units.length === cancelSlice && last !== undefined)
    yield* tx.run(sql.walkOn, last.number, tx.now, number)
  else if ((yield* tx.one(sql.pendingAfter, number, 0)) === undefined)
    yield* tx.run(sql.lookAfterEnd, number)
  else yield* tx.run(sql.walkOn, 0, tx.now + lookAgainMs, number)
  return units.length + 1
}

function* endCancelledUnit(tx: Transaction, { number, message }: UnitRow): Steps<void> {
  const isTaken = message === null || (yield* removeUnheld(tx, number, message))
  if (!isTaken) return
  const reason = 'The flow was cancelled.'
  yield* endUnit(tx, { unit: number, state: 'dead', reason, ...(message !== null && { message }) })
}

/** Removes the message of a unit, unless it is leased or goes with its queue. */
function* removeUnheld(tx: Transaction, unit: number, sequence: number): Steps<boolean> {
  const row = yield* tx.one(sql.messageOf, sequence, unit)
  if (row === undefined) return false
  const isHeld = row.state === leased && row.token !== unleasedToken && row.due_at > tx.now
  if (isHeld) return false
  const queue = yield* tx.queue(row.queue)
  yield* finishJob(tx, sequence, { queue: queue.name, status: 'cancelled' })
  const removed = yield* tx.one(sql.removeMessage, sequence, unit)
  if (removed !== undefined) yield* messageRemoved(tx, queue, removed)
  return true
}

interface HeldRow {
  readonly state: number
  readonly token: number
  readonly due_at: number
  readonly queue: string
}

/** The flow is gone at once; its units are removed after it. */
function* discard(tx: Transaction, flow: FlowRow): Steps<number> {
  const { number } = flow
  yield* abandonEndMessage(tx, flow)
  yield* tx.run(sql.remove, number)
  yield* tx.run(sql.removeTexts, number)
  yield* tx.run(forgetFlowSpending, number)
  yield* tx.run(sql.discard, number)
  return 1
}

function* removeDiscardedUnits(tx: Transaction): Steps<number> {
  const found = yield* tx.one(sql.discarded)
  if (found === undefined) return 0
  tx.wroteRow()
  const units = yield* tx.all(sql.discardedUnits, found.number)
  for (const { number } of units) {
    yield* tx.run(sql.removeUnit, number)
    yield* tx.run(sql.removeWork, number)
  }
  if (units.length < discardSlice) yield* tx.run(sql.forget, found.number)
  return units.length + 1
}

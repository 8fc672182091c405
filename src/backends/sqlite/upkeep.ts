/**
 * What the passing of time does to messages: leases lapse, delays end, retention runs out. Receives
 * do it for their own queue before they look, the sweeper for all queues.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { hasUsedUpReceives, moveUsedUp } from './dead-lettering.ts'
import { endUnit } from './flow-ends.ts'
import { groupChanged } from './groups.ts'
import { leaseLapsed } from './handoff-events.ts'
import { retentionCutoff } from './holding.ts'
import { finishJob, noteAttempt } from './job-history.ts'
import {
  blocked,
  type ContentRow,
  contentColumns,
  countNameOf,
  delayed,
  leased,
  nobodysToken,
} from './messages.ts'
import { allRows, getRow, upTo } from './rows.ts'
import { leaseEnded } from './tenants.ts'
import type { Queue } from './topology.ts'
import type { StoreTransaction } from './transaction.ts'

/** Rows handled in one go; keeps a slice to a few milliseconds. */
export const upkeepSlice = 1_000

/** Slices that one receive does before it looks for messages. */
const receiveSlicesMax = 4

export interface UpkeepStatements {
  readonly dueLeased: StatementSync
  readonly dueDelayed: StatementSync
  readonly dueBlocked: StatementSync
  readonly makeReady: StatementSync
  readonly remove: StatementSync
  readonly content: StatementSync
  readonly oldestReady: StatementSync
  readonly shortenDue: StatementSync
  readonly prolongHeld: StatementSync
  readonly prolongBlocked: StatementSync
}

/**
 * One state at a time: with a list of states, or a union, SQLite builds a table on every call, which
 * takes far longer than the search. `state > 0` tells it that the partial index will do.
 */
export function dueIn(state: number): string {
  return `
    SELECT sequence, state, sent_at, due_at, group_name, body IS NULL AS apart,
      job_type IS NOT NULL AS is_job, token, receive_count, leased_at, unit
    FROM message INDEXED BY message_due
    WHERE generation = ? AND state = ${state} AND state > 0 AND due_at <= ?`
}

export function prepareUpkeep(db: DatabaseSync): UpkeepStatements {
  return {
    dueLeased: db.prepare(`${dueIn(leased)} ${upTo}`),
    dueDelayed: db.prepare(`${dueIn(delayed)} ${upTo}`),
    dueBlocked: db.prepare(`${dueIn(blocked)} ${upTo}`),
    makeReady: db.prepare(`
      UPDATE message SET state = 0, held_until = NULL, lane = NULL WHERE sequence = ?`),
    remove: db.prepare('DELETE FROM message WHERE sequence = ?'),
    content: db.prepare(`SELECT ${contentColumns} FROM message WHERE sequence = ?`),
    oldestReady: db.prepare(`
      SELECT sequence, state, sent_at, due_at, group_name, body IS NULL AS apart,
        job_type IS NOT NULL AS is_job, token, receive_count, leased_at, unit
      FROM message INDEXED BY message_ready
      WHERE generation = ? AND state = 0 ORDER BY sequence LIMIT 1`),
    shortenDue: db.prepare(`
      UPDATE message SET held_until = coalesce(held_until, due_at), due_at = sent_at + ?
      WHERE generation = ? AND state > 0 AND due_at > sent_at + ?`),
    // Whoever holds a message whose lease outlasts the old retention holds it for as long as promised.
    prolongHeld: db.prepare(`
      UPDATE message SET
        due_at = min(held_until, sent_at + ?),
        held_until = nullif(max(held_until, sent_at + ?), sent_at + ?)
      WHERE generation = ? AND state > 0 AND state < ${blocked} AND held_until IS NOT NULL`),
    // Blocked messages are read in the order in which they are due.
    prolongBlocked: db.prepare(`
      UPDATE message SET due_at = sent_at + ?, held_until = NULL
      WHERE generation = ? AND state = ${blocked} AND state > 0`),
  }
}

interface UpkeepRow {
  readonly sequence: number
  readonly state: number
  readonly sent_at: number
  readonly due_at: number
  readonly group_name: string | null
  readonly apart: 0 | 1
  readonly is_job: 0 | 1
  readonly token: number
  readonly receive_count: number
  readonly leased_at: number
  readonly unit: number | null
}

/** Ends lapsed leases, delays and retention in a queue; the answer is how many rows it changed. */
export function catchUp(tx: StoreTransaction, queue: Queue): number {
  const { dueLeased, dueDelayed } = tx.session.upkeep
  const ended = catchUpWith(tx, queue, dueLeased)
  return ended === upkeepSlice
    ? ended
    : Math.min(upkeepSlice, ended + catchUpWith(tx, queue, dueDelayed))
}

function catchUpWith(tx: StoreTransaction, queue: Queue, due: StatementSync): number {
  const { makeReady } = tx.session.upkeep
  const rows = allRows<UpkeepRow>(due, queue.generation, tx.now, upkeepSlice)
  const cutoff = retentionCutoff(queue, tx.now)
  for (const row of rows) {
    if (row.sent_at <= cutoff) {
      const cameBack = row.due_at < row.sent_at + queue.settings.retentionMs
      expire(tx, queue, row, cameBack ? row.due_at : undefined)
    } else {
      makeReady.run(row.sequence)
      tx.count(queue, countNameOf(row.state), -1)
      tx.count(queue, 'ready', 1)
      tx.gainedReady(queue)
      // What only waited for its retry was counted when it failed.
      if (row.state === leased && row.token !== nobodysToken) tx.count(queue, 'failed', 1)
      if (row.state === leased) leaseLapsed(tx, row, row.due_at)
      if (row.is_job === 1 && row.state === leased) endAttempt(tx, queue, row)
      noteInGroup(tx, queue, row, row.due_at)
    }
  }
  return rows.length
}

/** What the lapse of a lease means for a job: a lost attempt, and the end if it was the last. */
function endAttempt(tx: StoreTransaction, queue: Queue, row: UpkeepRow): void {
  // A job that only waited for its retry has lost nothing.
  if (row.token === nobodysToken) return
  noteAttempt(tx, row, 'lapsed', undefined)
  const content = getRow<ContentRow>(tx.session.upkeep.content, row.sequence)
  // Nobody may ever receive from this queue again, and the job must end all the same.
  if (content !== undefined && hasUsedUpReceives(queue, content)) moveUsedUp(tx, queue, content)
}

/** Leaves nothing in a queue that time has overtaken; the sweeper keeps this short. */
export function catchUpFully(tx: StoreTransaction, queue: Queue): void {
  while (catchUp(tx, queue) === upkeepSlice);
  while (expireReady(tx, queue) === upkeepSlice);
  while (expireBlocked(tx, queue) === upkeepSlice);
}

/** As much of it as a receive may take upon itself; what is left, the next ones and the sweeper do. */
export function catchUpForReceive(tx: StoreTransaction, queue: Queue): void {
  let slices = receiveSlicesMax
  while (slices-- > 0 && catchUp(tx, queue) === upkeepSlice);
  // On a FIFO queue an expired head must not decide which group comes first.
  while (queue.settings.type === 'fifo' && slices-- > 0 && expireReady(tx, queue) === upkeepSlice);
}

/** Removes ready messages whose retention has ended, oldest first; at most one slice. */
export function expireReady(tx: StoreTransaction, queue: Queue): number {
  const cutoff = retentionCutoff(queue, tx.now)
  for (let count = 0; count < upkeepSlice; count += 1) {
    const row = getRow<UpkeepRow>(tx.session.upkeep.oldestReady, queue.generation)
    if (row === undefined || row.sent_at > cutoff) return count
    expire(tx, queue, row)
  }
  return upkeepSlice
}

/** The same for messages that wait in lanes. */
export function expireBlocked(tx: StoreTransaction, queue: Queue): number {
  const { dueBlocked } = tx.session.upkeep
  const rows = allRows<UpkeepRow>(dueBlocked, queue.generation, tx.now, upkeepSlice)
  for (const row of rows) expire(tx, queue, row)
  return rows.length
}

/**
 * Removes a message whose retention has ended.
 *
 * @param returnedAt when its lease lapsed, if it did before that end: others have waited for it
 */
export function expire(
  tx: StoreTransaction,
  queue: Queue,
  row: Pick<UpkeepRow, 'sequence' | 'state' | 'group_name' | 'apart' | 'is_job' | 'unit'>,
  returnedAt?: number,
): void {
  if (row.is_job === 1) {
    const error = 'The job expired before it was done.'
    finishJob(tx, row.sequence, { queue: queue.name, status: 'failed', error })
  }
  tx.session.upkeep.remove.run(row.sequence)
  if (row.apart === 1) tx.session.bodies.dropApart.run(row.sequence)
  tx.count(queue, countNameOf(row.state), -1)
  tx.count(queue, 'expired', 1)
  noteInGroup(tx, queue, row, returnedAt)
  if (row.unit === null) return
  const { unit, sequence: message } = row
  endUnit(tx, { unit, state: 'dead', reason: 'Its message has expired.', message })
}

function noteInGroup(
  tx: StoreTransaction,
  queue: Queue,
  row: Pick<UpkeepRow, 'state' | 'group_name'>,
  returnedAt?: number,
): void {
  if (row.group_name === null) return
  if (row.state === leased) {
    leaseEnded(tx, queue, row.group_name, returnedAt)
  } else if (queue.settings.type === 'fifo') {
    groupChanged(tx, queue.generation, row.group_name)
  }
}

/**
 * What time does to messages: leases lapse, delays end, messages expire. A receive applies it to its
 * own queue first, the sweeper to all queues.
 */

import type { LostAttempt } from '../../core/lost-attempt.ts'
import { endUnit } from '../flows/flow-ends.ts'
import { leaseLapsed } from '../inbox/inbox-events.ts'
import { decodeDetails } from '../jobs/job-details.ts'
import { finishJob, noteAttempt } from '../jobs/job-history.ts'
import type { Queue } from '../queues/queue.ts'
import { change, type Query, query, skipLocked, upTo } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import type { ContentRow } from './content-row.ts'
import { moveUsedUp } from './dead-lettering.ts'
import { expiryOf, hasOwnExpiries, isRunning } from './expiry.ts'
import { groupChanged } from './groups.ts'
import { hasUsedUpReceives } from './leases.ts'
import {
  blocked,
  contentColumns,
  countNameOf,
  delayed,
  dropLargeBody,
  leased,
  ready,
  removeMessage,
  unleasedToken,
} from './message-rows.ts'
import { leaseEnded } from './tenants.ts'

/** Rows handled in one go; keeps a slice to a few milliseconds. */
export const sliceRows = 1_000

/** Slices that one receive does before it looks for messages. */
const receiveSlicesMax = 4

/** The columns that are needed to end a lease or a delay, or to let a message expire. */
export const elapsedColumns = `sequence, state, sent_at, due_at, group_name, body IS NULL AS apart,
  job_type IS NOT NULL AS is_job, token, receive_count, leased_at, unit, expires_at`

/**
 * One state at a time: with a list of states, or a union, SQLite builds a table on every call, which
 * takes far longer than the search. `state > 0` lets it use the partial index.
 */
export function dueIn(state: number, columns: string = elapsedColumns): string {
  return `
    SELECT ${columns} FROM message /*sqlite INDEXED BY message_due */
    WHERE generation = ? AND state = ${state} AND state > 0 AND due_at <= ?
    ORDER BY due_at, sequence`
}

const oldestReady = `
  SELECT ${elapsedColumns} FROM message /*sqlite INDEXED BY message_ready */
  WHERE generation = ? AND state = 0 ORDER BY sequence LIMIT 1`
// The time at which a blocked message is due is that of its sending.
const oldestBlocked = `
  SELECT ${elapsedColumns} FROM message /*sqlite INDEXED BY message_due */
  WHERE generation = ? AND state = ${blocked} AND state > 0 ORDER BY due_at, sequence LIMIT 1`

/** Whether a lease, or a delay, is over in a queue. */
export const leaseIsDue: Query<unknown> = query(`${dueIn(leased)} LIMIT 1`)
export const delayIsDue: Query<unknown> = query(`${dueIn(delayed)} LIMIT 1`)

/** How the oldest message in some state is looked at, and how it is taken. */
interface Oldest {
  readonly look: Query<ElapsedRow>
  readonly take: Query<ElapsedRow>
}

const sql = {
  dueLeased: query<ElapsedRow>(`${dueIn(leased)} ${upTo} ${skipLocked}`),
  dueDelayed: query<ElapsedRow>(`${dueIn(delayed)} ${upTo} ${skipLocked}`),
  anyOwnExpired: query<unknown>(`${ownExpired(elapsedColumns)} LIMIT 1`),
  makeReady: change(`
    UPDATE message SET state = 0, held_until = NULL, bucket = NULL WHERE sequence = ?`),
  content: query<ContentRow>(`SELECT ${contentColumns} FROM message WHERE sequence = ?`),
  firstReady: query<ElapsedRow>(oldestReady),
  firstBlocked: query<ElapsedRow>(oldestBlocked),
  takeReady: query<ElapsedRow>(`${oldestReady} ${skipLocked}`),
  takeBlocked: query<ElapsedRow>(`${oldestBlocked} ${skipLocked}`),
  ownExpired: query<ElapsedRow>(`
    ${ownExpired(elapsedColumns)} ORDER BY expires_at, sequence ${upTo} ${skipLocked}`),
}

const readyOnes: Oldest = { look: sql.firstReady, take: sql.takeReady }
const blockedOnes: Oldest = { look: sql.firstBlocked, take: sql.takeBlocked }

/** Messages that wait and have passed their own expiry. Leases and delays end at their own times. */
export function ownExpired(columns: string): string {
  return `
    SELECT ${columns} FROM message /*sqlite INDEXED BY message_own_expiry */
    WHERE generation = ? AND expires_at <= ? AND (state = ${ready} OR state = ${blocked})`
}

export interface ElapsedRow {
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
  readonly expires_at: number | null
}

/** Ends lapsed leases and delays in a queue; returns how many rows it changed. */
export function* endDue(tx: Transaction, queue: Queue): Steps<number> {
  let ended = 0
  for (const due of [sql.dueLeased, sql.dueDelayed]) {
    const rows = yield* tx.all(due, queue.generation, tx.now, sliceRows)
    for (const row of rows) yield* applyElapsedTime(tx, queue, row)
    ended += rows.length
    if (ended >= sliceRows) break
  }
  return Math.min(sliceRows, ended)
}

/**
 * Does to a message what time has done to it, in the order in which it happened. A lease that lapsed
 * before the message expired has lapsed, noticed in between or not: a job may have failed by that. A job
 * that is being run does not expire before its lease has lapsed.
 */
export function* applyElapsedTime(tx: Transaction, queue: Queue, row: ElapsedRow): Steps<void> {
  const isJob = row.is_job === 1
  const expiresAt = expiryOf(queue, row, isJob)
  const runs = isJob && isRunning(row)
  const isHeld = row.state === leased || row.state === delayed
  const hasReturned = isHeld && row.due_at <= tx.now && (runs || row.due_at < expiresAt)
  const stays = !hasReturned || (yield* returnToReady(tx, queue, row))
  if (!stays || expiresAt > tx.now || (runs && !hasReturned)) return
  if (hasReturned)
    yield* expire(tx, queue, { ...row, state: ready }, Math.max(expiresAt, row.due_at))
  else yield* expire(tx, queue, row, expiresAt)
}

/** The end of a lease or a delay; false when that was the end of a job. */
function* returnToReady(tx: Transaction, queue: Queue, row: ElapsedRow): Steps<boolean> {
  yield* tx.run(sql.makeReady, row.sequence)
  tx.count(queue, countNameOf(row.state), -1)
  tx.count(queue, 'ready', 1)
  tx.gainedReady(queue)
  // A message that only waited for its retry was counted when it failed, and has lost no attempt.
  const wasLost = row.state === leased && row.token !== unleasedToken
  if (wasLost) tx.count(queue, 'failedAttempts', 1)
  if (row.state === leased) yield* leaseLapsed(tx, row, row.due_at)
  const hasEnded = wasLost && row.is_job === 1 && (yield* endAttempt(tx, queue, row))
  // A message that has ended did not return to ready, as when it is dead-lettered.
  yield* noteInGroup(tx, queue, row, hasEnded ? undefined : row.due_at)
  return !hasEnded
}

const unsettled = 'The lease ended before the attempt was settled.'

/** A job has lost an attempt; true when it was the last. */
function* endAttempt(tx: Transaction, queue: Queue, row: ElapsedRow): Steps<boolean> {
  yield* noteAttempt(tx, row, { outcome: 'lapsed', error: unsettled, at: row.due_at })
  const content = yield* tx.one(sql.content, row.sequence)
  if (content === undefined) return false
  // There may never be another receive from this queue, and the job must end all the same.
  const isLast =
    hasUsedUpReceives(queue, content) && (yield* moveUsedUp(tx, queue, content, row.due_at))
  reportLost(tx, queue, row, { job: content.job, isLast })
  return isLast
}

function reportLost(
  tx: Transaction,
  queue: Queue,
  { sequence, token, receive_count: attempt, leased_at, due_at }: ElapsedRow,
  { job, isLast }: Pick<ContentRow, 'job'> & Pick<LostAttempt, 'isLast'>,
): void {
  const { onAttemptLost } = tx
  if (onAttemptLost === undefined || job === null) return
  const { type, max: maxAttempts, traceId = null } = decodeDetails(job)
  const lost: LostAttempt = {
    queue: queue.name,
    type,
    id: tx.messageIds.of(sequence),
    attempt,
    maxAttempts,
    traceId,
    receipt: tx.receipts.format({ queueId: queue.id, sequence, token }),
    durationMs: due_at - leased_at,
    error: unsettled,
    isLast,
  }
  tx.afterCommit(() => onAttemptLost(lost))
}

/** Ends all that is due in a queue; the sweeper keeps this short. */
export function* endAllDue(tx: Transaction, queue: Queue): Steps<void> {
  while ((yield* endDue(tx, queue)) === sliceRows);
  while ((yield* expireWaiting(tx, queue)) === sliceRows);
}

/** Whether the queue holds anything that is due. */
export function* hasDue(view: View, queue: Queue): Steps<boolean> {
  for (const due of [leaseIsDue, delayIsDue, sql.anyOwnExpired]) {
    if ((yield* view.one(due, queue.generation, view.now)) !== undefined) return true
  }
  for (const oldest of [sql.firstReady, sql.firstBlocked]) {
    const row = yield* view.one(oldest, queue.generation)
    if (row !== undefined && hasRetentionEnded(queue, row, view.now)) return true
  }
  return false
}

/** As much of it as one call may do; the sweeper does the rest. */
export function* endDueForRead(tx: Transaction, queue: Queue): Steps<void> {
  for (let slices = receiveSlicesMax; slices > 0; slices -= 1) {
    const counts = [yield* endDue(tx, queue), yield* expireWaiting(tx, queue)]
    if (Math.max(...counts) < sliceRows) return
  }
}

/** As much of it as a receive may do; the next ones and the sweeper do the rest. */
export function* endDueForReceive(tx: Transaction, queue: Queue): Steps<void> {
  let slices = receiveSlicesMax
  while (slices-- > 0 && (yield* endDue(tx, queue)) === sliceRows);
  // On a FIFO queue an expired head must not decide which group comes first.
  while (
    queue.settings.type === 'fifo' &&
    slices-- > 0 &&
    (yield* expireReady(tx, queue)) === sliceRows
  );
}

/** Removes messages that have expired while they were ready or blocked; at most about a slice. */
export function* expireWaiting(tx: Transaction, queue: Queue): Steps<number> {
  return atMostSlice(
    yield* expireOldest(tx, queue, readyOnes),
    yield* expireOldest(tx, queue, blockedOnes),
    yield* expireOwn(tx, queue),
  )
}

/** The same for a receive, for which only those that are ready matter. */
function* expireReady(tx: Transaction, queue: Queue): Steps<number> {
  return atMostSlice(yield* expireOldest(tx, queue, readyOnes), yield* expireOwn(tx, queue))
}

/** The same for those that are blocked. */
export function* expireBlocked(tx: Transaction, queue: Queue): Steps<number> {
  return atMostSlice(yield* expireOldest(tx, queue, blockedOnes), yield* expireOwn(tx, queue))
}

function atMostSlice(...counts: readonly number[]): number {
  return Math.min(
    sliceRows,
    counts.reduce((sum, count) => sum + count, 0),
  )
}

/** Messages without their own expiry lie before all others, and expire in their order. */
function* expireOldest(tx: Transaction, queue: Queue, { look, take }: Oldest): Steps<number> {
  for (let count = 0; count < sliceRows; count += 1) {
    // A message that is taken only to be looked at would be missing for a receive.
    const oldest = yield* tx.one(look, queue.generation)
    if (oldest === undefined || !hasRetentionEnded(queue, oldest, tx.now)) return count
    const row = yield* tx.one(take, queue.generation)
    if (row === undefined || !hasRetentionEnded(queue, row, tx.now)) return count
    yield* expire(tx, queue, row, tx.now)
  }
  return sliceRows
}

function hasRetentionEnded(queue: Queue, row: ElapsedRow, now: number): boolean {
  return row.expires_at === null && expiryOf(queue, row, row.is_job === 1) <= now
}

function* expireOwn(tx: Transaction, queue: Queue): Steps<number> {
  if (!hasOwnExpiries(queue)) return 0
  const rows = yield* tx.all(sql.ownExpired, queue.generation, tx.now, sliceRows)
  for (const row of rows) yield* expire(tx, queue, row, row.expires_at ?? tx.now)
  return rows.length
}

/**
 * Removes a message that has expired.
 *
 * @param at when a job failed by it
 */
export function* expire(
  tx: Transaction,
  queue: Queue,
  row: Pick<ElapsedRow, 'sequence' | 'state' | 'group_name' | 'apart' | 'is_job' | 'unit'>,
  at: number,
): Steps<void> {
  if (row.is_job === 1) {
    const error = 'The job expired before it was done.'
    yield* finishJob(tx, row.sequence, { queue: queue.name, status: 'failed', error, at })
  }
  if (!(yield* tx.changed(removeMessage, row.sequence))) return
  if (row.apart === 1) yield* tx.run(dropLargeBody, row.sequence)
  tx.count(queue, countNameOf(row.state), -1)
  tx.count(queue, 'expired', 1)
  yield* noteInGroup(tx, queue, row)
  if (row.unit === null) return
  const { unit, sequence: message } = row
  yield* endUnit(tx, { unit, state: 'dead', reason: 'Its message has expired.', message })
}

function* noteInGroup(
  tx: Transaction,
  queue: Queue,
  row: Pick<ElapsedRow, 'state' | 'group_name'>,
  returnedAt?: number,
): Steps<void> {
  if (row.group_name === null) return
  if (row.state === leased) {
    yield* leaseEnded(tx, queue, row.group_name, returnedAt)
  } else if (queue.settings.type === 'fifo') {
    yield* groupChanged(tx, queue.generation, row.group_name)
  }
}

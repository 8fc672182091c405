/**
 * When messages expire. A plain message expires by its sending and the retention of its queue. Its row
 * stores nothing about it: in a queue of such messages those that have expired are the oldest. A row has
 * its own `expires_at` if that does not hold for it: a job with `expiresAfter`, a message with a long
 * delay, the dead letter of a job. A job without one never expires. So that the order of the others
 * stays simple, every plain message behind the first row of this kind has its own expiry too.
 */

import type { Queue } from '../queues/queue.ts'
import { change, type Statement } from '../statements.ts'
import { type Steps, some } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { leased, type MessageRow, unleasedToken } from './message-rows.ts'

const giveOwn = (index: string, state: string): Statement =>
  change(`
    UPDATE message /*sqlite INDEXED BY ${index} */ SET expires_at = sent_at + ?
    WHERE generation = ? AND state ${state} AND sequence >= ? AND job_type IS NULL
      AND expires_at IS NULL`)

const sql = {
  start: change('UPDATE queue SET own_expiry_from = ? WHERE id = ?'),
  giveReadyOwn: giveOwn('message_ready', '= 0'),
  giveOthersOwn: giveOwn('message_due', '> 0'),
}

/** The columns that decide when a message expires. */
export interface ExpiringRow {
  readonly sent_at: number
  readonly expires_at: number | null
}

/** When a message that waits expires; infinity for a job without a limit. */
export function expiryOf(queue: Queue, row: ExpiringRow, isJob: boolean): number {
  if (row.expires_at !== null) return row.expires_at
  return isJob ? Number.POSITIVE_INFINITY : row.sent_at + queue.settings.retentionMs
}

/** Whether some messages of the queue have, or had, their own expiry. */
export function hasOwnExpiries({ ownExpiryFrom }: Queue): boolean {
  return ownExpiryFrom < Number.MAX_SAFE_INTEGER
}

/** Whether a job is being run. It does not expire meanwhile; a plain message does. */
export function isRunning({ state, token }: Pick<MessageRow, 'state' | 'token'>): boolean {
  return state === leased && token !== unleasedToken
}

/** Messages sent at this time or earlier have expired, unless they have their own expiry. */
export function retentionCutoff(queue: Queue, now: number): number {
  return now - queue.settings.retentionMs
}

/** When to check the message, and what to store. */
export interface Hold {
  readonly dueAt: number
  readonly heldUntil: number | null
}

/** Holds a message back; it may expire before that, and its retention may still be prolonged. */
export function hold(until: number, expiresAt: number): Hold {
  return until <= expiresAt
    ? { dueAt: until, heldUntil: null }
    : { dueAt: expiresAt, heldUntil: until }
}

/** The same for a lease, which a job is free to use to its end. */
export function holdLeased(queue: Queue, row: ExpiringRow, isJob: boolean, until: number): Hold {
  return isJob ? { dueAt: until, heldUntil: null } : hold(until, expiryOf(queue, row, false))
}

/**
 * The queue, after a row with its own expiry, or a job, was made possible at this place. Only the first
 * one of a queue costs anything, unless it is a dead letter that lies before others.
 */
export function* withOwnExpiry(tx: Transaction, given: Queue, sequence: number): Steps<Queue> {
  if (sequence >= given.ownExpiryFrom) return given
  const queue = yield* latest(tx, given)
  if (sequence >= queue.ownExpiryFrom) return queue
  const isEmpty = !(yield* some(states, function* (state) {
    return (yield* tx.counted(queue, state)) !== 0
  }))
  const from = isEmpty ? 0 : sequence
  if (!isEmpty) {
    const values = [queue.settings.retentionMs, queue.generation, from] as const
    yield* tx.run(sql.giveReadyOwn, ...values)
    yield* tx.run(sql.giveOthersOwn, ...values)
  }
  yield* tx.run(sql.start, from, queue.id)
  yield* tx.queuesChanged()
  return yield* tx.queue(queue.name)
}

/** The queue as this transaction has left it; `withOwnExpiry` may have changed it meanwhile. */
export function* latest(tx: Transaction, queue: Queue): Steps<Queue> {
  return tx.hasChangedQueues ? yield* tx.queue(queue.name) : queue
}

const states = ['ready', 'leased', 'delayed'] as const

/** The expiry that a plain message must have in its row; null where the order of sending is enough. */
export function* ownExpiryOf(
  tx: Transaction,
  queue: Queue,
  row: { readonly sequence: number; readonly sentAt: number; readonly keptFrom: number },
): Steps<number | null> {
  const { sequence, sentAt, keptFrom } = row
  const needsOwn = keptFrom !== sentAt
  const { ownExpiryFrom } = needsOwn ? yield* withOwnExpiry(tx, queue, sequence) : queue
  return sequence >= ownExpiryFrom ? keptFrom + queue.settings.retentionMs : null
}

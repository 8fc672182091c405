/**
 * Ends leases. Every statement that changes a message names the token of the lease, so a
 * holder whose message was leased again changes nothing, whatever it sends.
 */

import type {
  LeaseRefusal,
  Outcome,
  Settle,
  Settlement,
  SettleResult,
} from '../../backends/backend.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Receipt } from '../../core/receipt.ts'
import { spendOn } from '../budgets/budgets.ts'
import { workOf } from '../budgets/spending.ts'
import { refuseBatch } from '../collectors/batches.ts'
import { endUnit } from '../flows/flow-ends.ts'
import { storeFailure, storeLogs } from '../jobs/attempt-details.ts'
import { finishLeasedJob, noteAttempt } from '../jobs/job-history.ts'
import type { Queue } from '../queues/queue.ts'
import { byKey, change, forUpdate, oneOf, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { carrierBucket } from './buckets.ts'
import { deadLetterQueue, moveLeasedMessage, removeFinished } from './dead-lettering.ts'
import { expire } from './elapsed-time.ts'
import { type ExpiringRow, expiryOf, hold } from './expiry.ts'
import { isForAnyLease, isHeld, isUnheld } from './late-receipts.ts'
import { findRow, leaseRefusal, receiptFor, refusalOf } from './leases.ts'
import {
  blocked,
  countNameOf,
  dropLargeBody,
  leased,
  type MessageRow,
  ready,
  unleasedToken,
} from './message-rows.ts'
import {
  acknowledgeTogether,
  countReturned,
  isPlain,
  plainRun,
  type Received,
  settleTogether,
} from './plain-settlements.ts'
import { refuseParts, storeParts } from './settlement-parts.ts'
import { leaseEnded } from './tenants.ts'

const deleted = 'RETURNING state, sent_at, expires_at, group_name, body IS NULL AS apart, unit'
const live = `WHERE sequence = ? AND generation = ? AND token = ? AND state${byKey} = 1 AND due_at > ?`

const sql = {
  take: query<unknown>(
    `SELECT 1 FROM message WHERE ${oneOf('sequence')} ORDER BY sequence ${forUpdate}`,
  ),
  // Standard queues accept a late acknowledgement as long as the message was not leased again. The
  // message of a job is deleted with the end of the job, or not at all.
  deleteHeld: query<DeletedRow>(`
    DELETE FROM message
    WHERE sequence = ? AND generation = ? AND token = ? AND (job_type IS NULL OR ? = 1) ${deleted}`),
  // The one statement without the token of the receipt, for callers who ask for it: see `anyLease` in
  // the port.
  deletePlainUnheld: query<DeletedRow>(`
    DELETE FROM message
    WHERE sequence = ? AND generation = ? AND job_type IS NULL AND ${isUnheld} ${deleted}`),
  deleteLive: query<DeletedRow>(`DELETE FROM message ${live} ${deleted}`),
  // Until its retry the message stays leased, without a holder: a FIFO group stays locked.
  holdBack: change(
    `UPDATE message SET
      due_at = ?, held_until = ?, token = ${unleasedToken}, bucket = NULL ${live}`,
  ),
  // Blocked messages are read in the order of sending.
  handBack: change(`
    UPDATE message SET
      state = ?, bucket = ?, held_until = ?,
      due_at = CASE WHEN ? = 1 THEN sent_at ELSE due_at END,
      token = ${unleasedToken}, receive_count = ? ${live}`),
}

/** Back to the ready order: the state, no bucket, and no other time. */
const inOrder = [ready, null, null, 0] as const

/** How long after its time a message that its carrier delays is sent again, if it has not arrived. */
const carrierGraceMs = 60_000

export function* settleLeases(tx: Transaction, request: Settle): Steps<readonly SettleResult[]> {
  const queue = yield* tx.queue(request.queue)
  const received = request.settlements.map((settlement) => ({
    settlement,
    receipt: receiptFor(tx, queue, settlement.receipt),
  }))
  if (received.length > 1 && plainRun(queue, received, 0).length < received.length) {
    yield* takeRows(tx, received)
  }
  const results: SettleResult[] = []
  let plain: ReadonlySet<number> = new Set()
  let plainUntil = 0
  for (const [index, one] of received.entries()) {
    if (index >= plainUntil) {
      const run = plainRun(queue, received, index)
      plainUntil = index + run.length
      plain = yield* settleTogether(tx, queue, run)
    }
    const isSettled = one.receipt !== undefined && plain.has(one.receipt.sequence)
    results.push(isSettled ? settledAlone : yield* settleOne(tx, queue, one))
  }
  return results
}

/** Locks what is settled one by one, in one order, so that no two transactions wait for each other. */
function* takeRows(tx: Transaction, received: readonly Received[]): Steps<void> {
  const sequences = received.flatMap(({ receipt }) => receipt?.sequence ?? [])
  yield* tx.lockRows(sql.take, JSON.stringify(sequences))
}

const settledAlone: SettleResult = { status: 'settled', emitted: [], enqueued: [] }

function* settleOne(
  tx: Transaction,
  queue: Queue,
  { settlement, receipt }: Received,
): Steps<SettleResult> {
  if (receipt === undefined) return refused(new MillraceError('receipt_invalid'))
  const error = yield* refuseEarly(tx, queue, receipt, settlement)
  if (error !== undefined) return refused(error)
  const { batch, logs, spent } = settlement
  // Read first: the settlement deletes the row, or changes its count of receives.
  const row = logs && (yield* findRow(tx, queue, receipt))
  const work = spent && (yield* workOf(tx, receipt.sequence))
  const end =
    (batch && (yield* refuseBatch(tx, receipt, batch))) ??
    (yield* settleLease(tx, queue, receipt, settlement))
  if (end === 'held') return { status: 'stale', isHeld: true }
  if (typeof end === 'string') return { status: end }
  if (logs && row && row.job !== null) yield* storeLogs(tx, row, logs)
  if (spent) yield* spendOn(tx, spent, work)
  return { status: 'settled', ...(yield* storeParts(tx, settlement, { receipt, unit: end.unit })) }
}

/** What can be found before the first row changes. */
function* refuseEarly(
  tx: Transaction,
  queue: Queue,
  receipt: Receipt,
  settlement: Settlement,
): Steps<MillraceError | undefined> {
  if (
    settlement.outcome.kind === 'deadLetter' &&
    (yield* deadLetterQueue(tx, queue)) === undefined
  ) {
    // A job can fail without a place for dead letters; any other message would just be lost.
    const isJob = typeof (yield* findRow(tx, queue, receipt))?.job === 'string'
    if (!isJob) return new MillraceError('dead_letter_missing')
  }
  return yield* refuseParts(tx, settlement)
}

/** How a lease ended, or why it did not. */
type LeaseEnd = LeaseRefusal | 'held' | EndedLease

interface EndedLease {
  /** The unit of a flow whose message was acknowledged. */
  readonly unit: number | null
}

const ended: EndedLease = { unit: null }

function* settleLease(
  tx: Transaction,
  queue: Queue,
  receipt: Receipt,
  settlement: Settlement,
): Steps<LeaseEnd> {
  const { outcome, returnsToCarrier } = settlement
  switch (outcome.kind) {
    case 'acknowledge':
      // A plain one was tried natively, with its neighbours.
      if (queue.settings.type === 'standard' && !isPlain(settlement)) {
        const { sequence } = receipt
        const { result } = outcome
        const settled = yield* acknowledgeTogether(tx, queue, [{ receipt, result }])
        if (settled.has(sequence)) return ended
      }
      return yield* acknowledge(tx, queue, receipt, outcome)
    case 'retry':
      return outcome.delayMs > 0
        ? yield* delayUntilRetry(tx, queue, receipt, { ...outcome, returnsToCarrier })
        : yield* returnToReady(tx, queue, receipt, {
            ...outcome,
            returnsToCarrier,
            countReceive: true,
          })
    case 'release':
      return yield* returnToReady(tx, queue, receipt, { returnsToCarrier, countReceive: false })
    case 'deadLetter':
      return yield* deadLetterLeased(tx, queue, receipt, outcome)
  }
}

interface DeletedRow extends ExpiringRow {
  readonly state: number
  readonly group_name: string | null
  readonly apart: 0 | 1
  readonly unit: number | null
}

type Acknowledged = Extract<Outcome, { readonly kind: 'acknowledge' }>

function* acknowledge(
  tx: Transaction,
  queue: Queue,
  receipt: Receipt,
  { result, anyLease }: Acknowledged,
): Steps<LeaseEnd> {
  const { sequence, token } = receipt
  const fifo = queue.settings.type === 'fifo'
  const lease = { receipt, queue, mayHaveLapsed: !fifo }
  const ending = { queue: queue.name, status: 'completed', result } as const
  const isJob = yield* finishLeasedJob(tx, lease, ending)
  let deleted = fifo
    ? yield* tx.one(sql.deleteLive, sequence, queue.generation, token, tx.now)
    : yield* tx.one(sql.deleteHeld, sequence, queue.generation, token, isJob ? 1 : 0)
  if (deleted === undefined && anyLease && !fifo) {
    deleted = yield* tx.one(sql.deletePlainUnheld, sequence, queue.generation, tx.now)
  }
  if (deleted === undefined) {
    const row = anyLease ? yield* findRow(tx, queue, receipt) : undefined
    const isHeldByAnother = row && isForAnyLease(queue, row) && isHeld(row, tx.now)
    return isHeldByAnother ? 'held' : yield* refusalOf(tx, queue, receipt)
  }
  if (deleted.apart === 1) yield* tx.run(dropLargeBody, sequence)
  tx.count(queue, countNameOf(deleted.state), -1)
  if (deleted.state === leased) yield* leaseEnded(tx, queue, deleted.group_name)
  if (fifo) tx.gainedReady(queue)
  const hasExpired = !isJob && expiryOf(queue, deleted, false) <= tx.now
  tx.count(queue, hasExpired ? 'expired' : 'acknowledged', 1)
  const { unit } = deleted
  if (!hasExpired) return { unit }
  if (unit !== null) {
    yield* endUnit(tx, {
      unit,
      state: 'dead',
      reason: 'Its message has expired.',
      message: sequence,
    })
  }
  return 'gone'
}

type Retry = Extract<Outcome, { readonly kind: 'retry' }> & Pick<Settlement, 'returnsToCarrier'>

function* delayUntilRetry(
  tx: Transaction,
  queue: Queue,
  receipt: Receipt,
  retry: Retry,
): Steps<LeaseEnd> {
  const { delayMs, error, failure, returnsToCarrier } = retry
  const row = yield* findRow(tx, queue, receipt)
  if (row === undefined) return 'gone'
  const expiresAt = expiryOf(queue, row, row.job !== null)
  if (expiresAt <= tx.now)
    return yield* returnToReady(tx, queue, receipt, { ...retry, countReceive: true })
  const { sequence, token } = receipt
  const until = tx.now + delayMs
  const { dueAt, heldUntil } = returnsToCarrier
    ? { dueAt: Math.min(until + carrierGraceMs, expiresAt), heldUntil: until }
    : hold(until, expiresAt)
  const values = [dueAt, heldUntil, sequence, queue.generation, token, tx.now] as const
  if (!(yield* tx.changed(sql.holdBack, ...values)))
    return leaseRefusal(tx, row, receipt) ?? 'stale'
  tx.count(queue, 'failedAttempts', 1)
  if (row.job !== null)
    yield* noteAttempt(tx, row, { outcome: 'retried', error, failure, at: tx.now })
  return ended
}

interface Return extends Pick<Retry, 'error' | 'failure' | 'returnsToCarrier'> {
  readonly countReceive: boolean
}

function* returnToReady(
  tx: Transaction,
  queue: Queue,
  receipt: Receipt,
  { countReceive, returnsToCarrier, error, failure }: Return,
): Steps<LeaseEnd> {
  const row = yield* findRow(tx, queue, receipt)
  if (row === undefined) return 'gone'
  const receiveCount = countReceive ? row.receive_count : row.receive_count - 1
  const { sequence, token } = receipt
  const values = [receiveCount, sequence, queue.generation, token, tx.now] as const
  const place = returnsToCarrier ? ([blocked, carrierBucket, tx.now, 1] as const) : inOrder
  if (!(yield* tx.changed(sql.handBack, ...place, ...values)))
    return leaseRefusal(tx, row, receipt) ?? 'stale'
  if (row.job !== null && countReceive) {
    yield* noteAttempt(tx, row, { outcome: 'retried', error, failure, at: tx.now })
  }
  if (countReceive) tx.count(queue, 'failedAttempts', 1)
  countReturned(tx, queue, 1)
  yield* leaseEnded(tx, queue, row.group_name, tx.now)
  if (expiryOf(queue, row, row.job !== null) <= tx.now) yield* expireReturned(tx, queue, row)
  return ended
}

/** A job may run past its limit, but not wait for another attempt. */
function* expireReturned(tx: Transaction, queue: Queue, row: MessageRow): Steps<void> {
  const apart = row.body === null ? 1 : 0
  const isJob = row.job === null ? 0 : 1
  yield* expire(tx, queue, { ...row, state: ready, apart, is_job: isJob }, tx.now)
}

function* deadLetterLeased(
  tx: Transaction,
  queue: Queue,
  receipt: Receipt,
  { reason, failure }: Extract<Outcome, { readonly kind: 'deadLetter' }>,
): Steps<LeaseEnd> {
  const row = yield* findRow(tx, queue, receipt)
  if (row === undefined) return 'gone'
  const lease = { receipt, queue, mayHaveLapsed: false }
  const ending = { queue: queue.name, status: 'failed', error: reason } as const
  if (row.job !== null && !(yield* finishLeasedJob(tx, lease, ending))) {
    return leaseRefusal(tx, row, receipt) ?? 'stale'
  }
  if (row.job !== null && failure !== undefined) yield* storeFailure(tx, row, failure)
  const target = yield* deadLetterQueue(tx, queue)
  if (target === undefined) {
    // It was a job, or it would have been refused; its end is recorded.
    yield* removeFinished(tx, queue, row, reason)
    tx.count(queue, 'failedAttempts', 1)
    return ended
  }
  if (yield* moveLeasedMessage(tx, queue, target, row, { token: receipt.token, reason })) {
    tx.count(queue, 'failedAttempts', 1)
    // The group lost its lock: its next message may be received.
    tx.gainedReady(queue)
    return ended
  }
  return leaseRefusal(tx, row, receipt) ?? 'stale'
}

function refused(error: MillraceError): {
  readonly status: 'refused'
  readonly error: MillraceError
} {
  return { status: 'refused', error }
}

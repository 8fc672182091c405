/**
 * Ends and extends leases. Every statement that changes a message names the token of the lease, so a
 * holder whose message was leased again changes nothing, whatever it sends.
 */

import { leaseMsMax } from '../../../core/limits.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Receipt } from '../../../core/receipt.ts'
import type {
  Extend,
  Extension,
  LeaseRefusal,
  LeaseResult,
  Outcome,
  Settle,
  Settlement,
  SettleResult,
} from '../../backend.ts'
import { spendOn } from '../budgets/budgets.ts'
import { workOf } from '../budgets/spending.ts'
import { refuseBatch } from '../collectors/batches.ts'
import { change, query, type Statement } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { endUnit } from '../flows/flow-ends.ts'
import { storeFailure, storeLogs } from '../jobs/attempt-details.ts'
import { finishLeasedJob, noteAttempt } from '../jobs/job-history.ts'
import type { Queue } from '../queues/queue-cache.ts'
import { deadLetterQueue, moveLeasedMessage, removeFinished } from './dead-lettering.ts'
import { expire } from './elapsed-time.ts'
import { type ExpiringRow, expiryOf, hold, holdLeased } from './expiry.ts'
import { hideUnheld, isForAnyLease, isHeld, isUnheld } from './late-receipts.ts'
import { findRow, leaseRefusal, receiptFor, refusalOf } from './leases.ts'
import {
  countNameOf,
  dropLargeBody,
  leased,
  type MessageRow,
  ready,
  unleasedToken,
} from './message-rows.ts'
import { refuseParts, storeParts } from './settlement-parts.ts'
import { completeTogether, countTogether, type Received } from './settling-together.ts'
import { leaseEnded } from './tenants.ts'

const deleted = 'RETURNING state, sent_at, expires_at, group_name, body IS NULL AS apart, unit'
const live = 'WHERE sequence = ? AND generation = ? AND token = ? AND state = 1 AND due_at > ?'

const sql = {
  extend: change(`UPDATE message SET due_at = ?, held_until = ? ${live} AND leased_at >= ?`),
  deletePlain: change(`
    DELETE FROM message ${live} AND body IS NOT NULL AND job_type IS NULL AND group_name IS NULL
      AND unit IS NULL`),
  deleteJob: change(`
    DELETE FROM message ${live} AND body IS NOT NULL AND group_name IS NULL AND unit IS NULL`),
  // Standard queues accept a late acknowledgement as long as the message was not leased again. The
  // message of a job is deleted with the end of the job, or not at all.
  deleteHeld: query<DeletedRow>(`
    DELETE FROM message
    WHERE sequence = ? AND generation = ? AND token = ? AND (job_type IS NULL OR ?) ${deleted}`),
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
  handBack: change(`
    UPDATE message SET
      state = 0, held_until = NULL, token = ${unleasedToken}, bucket = NULL,
      receive_count = ? ${live}`),
}

export function extendLeases(tx: StoreTransaction, request: Extend): readonly LeaseResult[] {
  const queue = tx.queue(request.queue)
  return request.leases.map((extension) => {
    const receipt = receiptFor(queue, extension.receipt)
    if (receipt === undefined) return refused(new MillraceError('receipt_invalid'))
    return extendLease(tx, queue, receipt, extension)
  })
}

function extendLease(
  tx: StoreTransaction,
  queue: Queue,
  receipt: Receipt,
  { visibilityMs, anyLease }: Extension,
): LeaseResult {
  const row = findRow(tx, queue, receipt)
  if (row === undefined) return { status: 'gone' }
  const leaseExpiresAt = tx.now + visibilityMs
  const { dueAt, heldUntil } = holdLeased(queue, row, row.job !== null, leaseExpiresAt)
  const { sequence, token } = receipt
  const values = [dueAt, heldUntil, sequence, queue.generation, token, tx.now] as const
  if (tx.changed(sql.extend, ...values, leaseExpiresAt - leaseMsMax)) {
    tx.wroteRow(queue)
    return { status: 'extended', leaseExpiresAt }
  }
  const refusal = leaseRefusal(tx, row, receipt)
  if (refusal !== undefined) {
    if (!anyLease || !isForAnyLease(queue, row)) return { status: refusal }
    if (isHeld(row, tx.now)) return { status: refusal, isHeld: true }
    const change = { until: leaseExpiresAt, token }
    if (hideUnheld(tx, queue, row, change)) return { status: 'extended', leaseExpiresAt }
  }
  const violation = {
    field: 'visibilityMs',
    given: String(visibilityMs),
    allowed: `at most ${leaseMsMax} ms since the message was received`,
  }
  return refused(MillraceError.invalid([violation]))
}

export function settleLeases(tx: StoreTransaction, request: Settle): readonly SettleResult[] {
  const queue = tx.queue(request.queue)
  const received = request.settlements.map((settlement) => ({
    settlement,
    receipt: receiptFor(queue, settlement.receipt),
  }))
  const results: SettleResult[] = []
  let done = none
  let togetherUntil = 0
  for (const [index, one] of received.entries()) {
    if (index >= togetherUntil) {
      const count = countTogether(tx, queue, received, index)
      togetherUntil = index + count
      done = count > 1 ? completeTogether(tx, queue, one, count) : none
    }
    const isDone = one.receipt !== undefined && done.has(one.receipt.sequence)
    results.push(isDone ? settledAlone : settleOne(tx, queue, one))
  }
  return results
}

const none: ReadonlySet<number> = new Set()

const settledAlone: SettleResult = { status: 'settled', emitted: [], enqueued: [] }

function settleOne(
  tx: StoreTransaction,
  queue: Queue,
  { settlement, receipt }: Received,
): SettleResult {
  if (receipt === undefined) return refused(new MillraceError('receipt_invalid'))
  const error = refuseEarly(tx, queue, receipt, settlement)
  if (error !== undefined) return refused(error)
  const { batch, logs, spent } = settlement
  // Read first: the settlement deletes the row, or changes its count of receives.
  const row = logs && findRow(tx, queue, receipt)
  const work = spent && workOf(tx, receipt.sequence)
  const end =
    (batch && refuseBatch(tx, receipt, batch)) ?? settleLease(tx, queue, receipt, settlement)
  if (end === 'held') return { status: 'stale', isHeld: true }
  if (typeof end === 'string') return { status: end }
  if (logs && row && row.job !== null) storeLogs(tx, row, logs)
  if (spent) spendOn(tx, spent, work)
  return { status: 'settled', ...storeParts(tx, settlement, { receipt, unit: end.unit }) }
}

/** What can be found before the first row changes. */
function refuseEarly(
  tx: StoreTransaction,
  queue: Queue,
  receipt: Receipt,
  settlement: Settlement,
): MillraceError | undefined {
  if (settlement.outcome.kind === 'deadLetter' && deadLetterQueue(tx, queue) === undefined) {
    // A job can fail without a place for dead letters; any other message would just be lost.
    const isJob = typeof findRow(tx, queue, receipt)?.job === 'string'
    if (!isJob) return new MillraceError('dead_letter_missing')
  }
  return refuseParts(tx, settlement)
}

/** How a lease ended, or why it did not. */
type LeaseEnd = LeaseRefusal | 'held' | EndedLease

interface EndedLease {
  /** The unit of a flow whose message was acknowledged. */
  readonly unit: number | null
}

const ended: EndedLease = { unit: null }

function settleLease(
  tx: StoreTransaction,
  queue: Queue,
  receipt: Receipt,
  { outcome }: Settlement,
): LeaseEnd {
  switch (outcome.kind) {
    case 'acknowledge':
      return acknowledge(tx, queue, receipt, outcome)
    case 'retry':
      return outcome.delayMs > 0
        ? delayUntilRetry(tx, queue, receipt, outcome)
        : returnToReady(tx, queue, receipt, { ...outcome, countReceive: true })
    case 'release':
      return returnToReady(tx, queue, receipt, { countReceive: false })
    case 'deadLetter':
      return deadLetterLeased(tx, queue, receipt, outcome)
  }
}

interface DeletedRow extends ExpiringRow {
  readonly state: number
  readonly group_name: string | null
  readonly apart: 0 | 1
  readonly unit: number | null
}

type Acknowledgement = Extract<Outcome, { readonly kind: 'acknowledge' }>

function acknowledge(
  tx: StoreTransaction,
  queue: Queue,
  receipt: Receipt,
  { result, anyLease }: Acknowledgement,
): LeaseEnd {
  const { jobQueues } = tx.session
  const { sequence, token } = receipt
  const fifo = queue.settings.type === 'fifo'
  const mayBePlain = !fifo && !jobQueues.has(queue)
  if (mayBePlain && deleteOutright(tx, queue, receipt, sql.deletePlain)) return ended
  const lease = { receipt, queue, mayHaveLapsed: !fifo }
  const isJob = finishLeasedJob(tx, lease, { queue: queue.name, status: 'completed', result })
  if (isJob) jobQueues.add(queue)
  if (isJob && !fifo && deleteOutright(tx, queue, receipt, sql.deleteJob)) return ended
  let deleted = fifo
    ? tx.one(sql.deleteLive, sequence, queue.generation, token, tx.now)
    : tx.one(sql.deleteHeld, sequence, queue.generation, token, isJob ? 1 : 0)
  if (deleted === undefined && anyLease && !fifo) {
    deleted = tx.one(sql.deletePlainUnheld, sequence, queue.generation, tx.now)
  }
  if (deleted === undefined) {
    const row = anyLease ? findRow(tx, queue, receipt) : undefined
    const isHeldByAnother = row && isForAnyLease(queue, row) && isHeld(row, tx.now)
    return isHeldByAnother ? 'held' : refusalOf(tx, queue, receipt)
  }
  if (deleted.apart === 1) tx.run(dropLargeBody, sequence)
  tx.count(queue, countNameOf(deleted.state), -1)
  if (deleted.state === leased) leaseEnded(tx, queue, deleted.group_name)
  if (fifo) tx.gainedReady(queue)
  const hasExpired = !isJob && expiryOf(queue, deleted, false) <= tx.now
  tx.count(queue, hasExpired ? 'expired' : 'acknowledged', 1)
  const { unit } = deleted
  if (!hasExpired) return { unit }
  if (unit !== null) {
    endUnit(tx, { unit, state: 'dead', reason: 'Its message has expired.', message: sequence })
  }
  return 'gone'
}

/** By far the most common case: a live lease and a small body. Without RETURNING it is much faster. */
function deleteOutright(
  tx: StoreTransaction,
  queue: Queue,
  { sequence, token }: Receipt,
  statement: Statement,
): boolean {
  const { changes } = tx.session.prepared(statement).run(sequence, queue.generation, token, tx.now)
  if (changes !== 1) return false
  tx.count(queue, 'leased', -1)
  tx.count(queue, 'acknowledged', 1)
  return true
}

type Retry = Extract<Outcome, { readonly kind: 'retry' }>

function delayUntilRetry(
  tx: StoreTransaction,
  queue: Queue,
  receipt: Receipt,
  retry: Retry,
): LeaseEnd {
  const { delayMs, error, failure } = retry
  const row = findRow(tx, queue, receipt)
  if (row === undefined) return 'gone'
  const expiresAt = expiryOf(queue, row, row.job !== null)
  if (expiresAt <= tx.now)
    return returnToReady(tx, queue, receipt, { ...retry, countReceive: true })
  const { sequence, token } = receipt
  const { dueAt, heldUntil } = hold(tx.now + delayMs, expiresAt)
  const values = [dueAt, heldUntil, sequence, queue.generation, token, tx.now] as const
  if (!tx.changed(sql.holdBack, ...values)) return leaseRefusal(tx, row, receipt) ?? 'stale'
  tx.count(queue, 'failedAttempts', 1)
  if (row.job !== null) noteAttempt(tx, row, { outcome: 'retried', error, failure, at: tx.now })
  return ended
}

function returnToReady(
  tx: StoreTransaction,
  queue: Queue,
  receipt: Receipt,
  { countReceive, error, failure }: Pick<Retry, 'error' | 'failure'> & { countReceive: boolean },
): LeaseEnd {
  const row = findRow(tx, queue, receipt)
  if (row === undefined) return 'gone'
  const receiveCount = countReceive ? row.receive_count : row.receive_count - 1
  const { sequence, token } = receipt
  const values = [receiveCount, sequence, queue.generation, token, tx.now] as const
  if (!tx.changed(sql.handBack, ...values)) return leaseRefusal(tx, row, receipt) ?? 'stale'
  if (row.job !== null && countReceive) {
    noteAttempt(tx, row, { outcome: 'retried', error, failure, at: tx.now })
  }
  if (countReceive) tx.count(queue, 'failedAttempts', 1)
  tx.count(queue, 'leased', -1)
  tx.count(queue, 'ready', 1)
  tx.gainedReady(queue)
  leaseEnded(tx, queue, row.group_name, tx.now)
  if (expiryOf(queue, row, row.job !== null) <= tx.now) expireReturned(tx, queue, row)
  return ended
}

/** A job may run past its limit, but not wait for another attempt. */
function expireReturned(tx: StoreTransaction, queue: Queue, row: MessageRow): void {
  const apart = row.body === null ? 1 : 0
  const isJob = row.job === null ? 0 : 1
  expire(tx, queue, { ...row, state: ready, apart, is_job: isJob }, tx.now)
}

function deadLetterLeased(
  tx: StoreTransaction,
  queue: Queue,
  receipt: Receipt,
  { reason, failure }: Extract<Outcome, { readonly kind: 'deadLetter' }>,
): LeaseEnd {
  const row = findRow(tx, queue, receipt)
  if (row === undefined) return 'gone'
  const lease = { receipt, queue, mayHaveLapsed: false }
  const ending = { queue: queue.name, status: 'failed', error: reason } as const
  if (row.job !== null && !finishLeasedJob(tx, lease, ending)) {
    return leaseRefusal(tx, row, receipt) ?? 'stale'
  }
  if (row.job !== null && failure !== undefined) storeFailure(tx, row, failure)
  const target = deadLetterQueue(tx, queue)
  if (target === undefined) {
    // It was a job, or it would have been refused; its end is recorded.
    removeFinished(tx, queue, row, reason)
    tx.count(queue, 'failedAttempts', 1)
    return ended
  }
  if (moveLeasedMessage(tx, queue, target, row, { token: receipt.token, reason })) {
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

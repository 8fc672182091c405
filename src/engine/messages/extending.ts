/** Extends leases: one read takes all their rows, and each has a write that nothing waits for. */

import type { Extend, Extension, LeaseResult } from '../../backends/backend.ts'
import { leaseMsMax } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Receipt } from '../../core/receipt.ts'
import type { Queue } from '../queues/queue.ts'
import { change } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { holdLeased } from './expiry.ts'
import { hideUnheld, isForAnyLease, isHeld } from './late-receipts.ts'
import { findRow, findRows, leaseRefusal, receiptFor } from './leases.ts'
import type { MessageRow } from './message-rows.ts'

const extend = change('UPDATE message SET due_at = ?, held_until = ? WHERE sequence = ?')

export function* extendLeases(tx: Transaction, request: Extend): Steps<readonly LeaseResult[]> {
  const queue = yield* tx.queue(request.queue)
  const receipts = request.leases.map(({ receipt }) => receiptFor(tx, queue, receipt))
  const rows = yield* findRows(tx, queue, receipts)
  const results: LeaseResult[] = []
  const changed = new Set<number>()
  for (const [index, extension] of request.leases.entries()) {
    const receipt = receipts[index]
    if (receipt === undefined) {
      results.push({ status: 'refused', error: new MillraceError('receipt_invalid') })
      continue
    }
    const { sequence } = receipt
    // A message that is named twice is read again.
    const row = changed.has(sequence) ? yield* findRow(tx, queue, receipt) : rows.get(sequence)
    changed.add(sequence)
    results.push(yield* extendLease(tx, queue, { ...extension, receipt, row }))
  }
  return results
}

interface OneExtension extends Pick<Extension, 'visibilityMs' | 'anyLease'> {
  readonly receipt: Receipt
  readonly row: MessageRow | undefined
}

function* extendLease(
  tx: Transaction,
  queue: Queue,
  { receipt, row, visibilityMs, anyLease }: OneExtension,
): Steps<LeaseResult> {
  if (row === undefined) return { status: 'gone' }
  const leaseExpiresAt = tx.now + visibilityMs
  const { sequence, token } = receipt
  const refusal = leaseRefusal(tx, row, receipt)
  if (refusal === undefined && row.leased_at >= leaseExpiresAt - leaseMsMax) {
    const { dueAt, heldUntil } = holdLeased(queue, row, row.job !== null, leaseExpiresAt)
    yield* tx.run(extend, dueAt, heldUntil, sequence)
    tx.wroteRow(queue)
    return { status: 'extended', leaseExpiresAt }
  }
  if (refusal !== undefined) {
    if (!anyLease || !isForAnyLease(queue, row)) return { status: refusal }
    if (isHeld(row, tx.now)) return { status: refusal, isHeld: true }
    const change = { until: leaseExpiresAt, token }
    if (yield* hideUnheld(tx, queue, row, change)) return { status: 'extended', leaseExpiresAt }
  }
  const violation = {
    field: 'visibilityMs',
    given: String(visibilityMs),
    allowed: `at most ${leaseMsMax} ms since the message was received`,
  }
  return { status: 'refused', error: MillraceError.invalid([violation]) }
}

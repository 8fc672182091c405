/**
 * Completes jobs that were claimed together with two statements instead of two for each. With fast
 * handlers most settlements are of this kind, and each run of a statement has its price.
 */

import type { Receipt } from '../../../core/receipt.ts'
import type { Settlement } from '../../backend.ts'
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { finishTogether, type LeasedTogether, leasedTogether } from '../jobs/job-history.ts'
import type { Queue } from '../queues/queue-cache.ts'

const sql = {
  remove: change(`DELETE FROM message WHERE ${leasedTogether}`),
  hasFinished: query<unknown>('SELECT 1 FROM finished_job WHERE number = ?'),
  removeOne: change('DELETE FROM message WHERE sequence = ? AND generation = ?'),
}

/** A settlement and the receipt that it names. */
export interface Received {
  readonly settlement: Settlement
  readonly receipt: Receipt | undefined
}

/** How many of the settlements, from `start` on, complete jobs that were claimed together. */
export function countTogether(
  tx: StoreTransaction,
  queue: Queue,
  received: readonly Received[],
  start: number,
): number {
  const first = received[start]
  if (queue.settings.type === 'fifo' || !tx.session.jobQueues.has(queue)) return 0
  if (first?.receipt === undefined || !isPlainCompletion(first.settlement)) return 0
  let count = 1
  for (; ; count += 1) {
    const next = received[start + count]
    const follows =
      next?.receipt?.sequence === first.receipt.sequence + count &&
      next.receipt.token === first.receipt.token + count &&
      isPlainCompletion(next.settlement) &&
      resultOf(next.settlement) === resultOf(first.settlement)
    if (!follows) return count
  }
}

/** Completes `count` jobs, from the first one on; returns the sequence numbers of those it completed. */
export function completeTogether(
  tx: StoreTransaction,
  queue: Queue,
  { settlement, receipt }: Received,
  count: number,
): ReadonlySet<number> {
  if (receipt === undefined) return new Set()
  const { sequence, token } = receipt
  const last = sequence + count - 1
  const rows: LeasedTogether = [sequence, last, queue.generation, token - sequence, tx.now]
  const ending = { queue: queue.name, status: 'completed', result: resultOf(settlement) } as const
  const finished = finishTogether(tx, rows, ending)
  tx.count(queue, 'leased', -finished)
  tx.count(queue, 'acknowledged', finished)
  const numbers = Array.from({ length: count }, (_, index) => sequence + index)
  if (finished === count) {
    tx.run(sql.remove, ...rows)
    return new Set(numbers)
  }
  // Some leases have ended. A message whose job has an end is one of ours: the others lost theirs with it.
  const isOurs = (number: number): boolean =>
    finished > 0 &&
    tx.one(sql.hasFinished, number) !== undefined &&
    tx.changed(sql.removeOne, number, queue.generation)
  return new Set(numbers.filter(isOurs))
}

/** Whether it only completes the job. */
function isPlainCompletion(settlement: Settlement): boolean {
  const { outcome } = settlement
  if (outcome.kind !== 'acknowledge' || outcome.anyLease) return false
  for (const part in settlement) if (part !== 'receipt' && part !== 'outcome') return false
  return true
}

function resultOf({ outcome }: Settlement): string | undefined {
  return outcome.kind === 'acknowledge' ? outcome.result : undefined
}

/** Removes a message from its queue, whatever its state. */

import type { Queue } from '../queues/queue.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { groupChanged } from './groups.ts'
import { countNameOf, dropLargeBody, leased } from './message-rows.ts'
import { leaseEnded } from './tenants.ts'

export interface RemovedRow {
  readonly sequence: number
  readonly state: number
  readonly group_name: string | null
  readonly apart: 0 | 1
}

/** Brings everything up to date after the row was deleted. */
export function* messageRemoved(tx: Transaction, queue: Queue, row: RemovedRow): Steps<void> {
  const { sequence, state, group_name } = row
  if (row.apart === 1) yield* tx.run(dropLargeBody, sequence)
  tx.count(queue, countNameOf(state), -1)
  if (state === leased) yield* leaseEnded(tx, queue, group_name)
  if (queue.settings.type !== 'fifo' || group_name === null) return
  if (state !== leased) yield* groupChanged(tx, queue.generation, group_name)
  tx.gainedReady(queue)
}

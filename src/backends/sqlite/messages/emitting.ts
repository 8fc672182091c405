/** Messages and jobs that are stored together with something else, in its transaction. */

import type { MillraceError } from '../../../core/millrace-error.ts'
import type { Emitted } from '../../backend.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { enqueueJob, messageOf, refuseJob } from '../jobs/enqueueing.ts'
import { queueNotFound } from '../queues/queue-cache.ts'
import { refuseInQueue, storeMessage } from './sending.ts'

export interface StoredEmit {
  readonly status: 'created' | 'duplicate' | 'coalesced'
  readonly id: string
}

/** Why the queue cannot take the message or job: it does not exist, or its settings forbid it. */
export function refuseEmitted(tx: StoreTransaction, emitted: Emitted): MillraceError | undefined {
  const queue = tx.findQueue(emitted.queue)
  if (queue === undefined) return queueNotFound(emitted.queue)
  if (!('job' in emitted)) return refuseInQueue(tx, queue, emitted.message)
  return refuseJob(tx, queue, emitted.job, messageOf(emitted.job))
}

/** Throws when the queue cannot take it. */
export function storeEmitted(tx: StoreTransaction, emitted: Emitted): StoredEmit {
  const refusal = refuseEmitted(tx, emitted)
  if (refusal !== undefined) throw refusal
  const queue = tx.queue(emitted.queue)
  if ('job' in emitted) return enqueueJob(tx, queue, emitted.job)
  return storeMessage(tx, queue, emitted.message)
}

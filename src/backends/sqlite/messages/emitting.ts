/** Stores what comes to exist together with something else, in the transaction of that. */
import type { Emitted } from '../../backend.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { enqueueJob, refuseEmittedJobs } from '../jobs/enqueueing.ts'
import { refuse, storeMessage } from './sending.ts'

export interface StoredEmit {
  readonly status: 'created' | 'duplicate' | 'coalesced'
  readonly id: string
}

/** Throws before anything is written when the queue does not exist, or does not take it. */
export function storeEmitted(tx: StoreTransaction, emission: Emitted): StoredEmit {
  const queue = tx.queue(emission.queue)
  if ('job' in emission) {
    const refusal = refuseEmittedJobs(tx, [emission])
    if (refusal !== undefined) throw refusal
    return enqueueJob(tx, queue, emission.job)
  }
  const refusal = refuse(queue, emission.message)
  if (refusal !== undefined) throw refusal
  return storeMessage(tx, queue, emission.message)
}

/** Messages and jobs that are stored together with something else, in its transaction. */

import type { Emitted } from '../../backends/backend.ts'
import type { MillraceError } from '../../core/millrace-error.ts'
import { enqueueJob, messageOf, refuseJob } from '../jobs/enqueueing.ts'
import { queueNotFound } from '../queues/queue.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { refuseInQueue, storeMessage } from './sending.ts'

export interface StoredEmit {
  readonly status: 'created' | 'duplicate' | 'coalesced'
  readonly id: string
}

/** Why the queue cannot take the message or job: it does not exist, or its settings forbid it. */
export function* refuseEmitted(
  tx: Transaction,
  emitted: Emitted,
): Steps<MillraceError | undefined> {
  const queue = yield* tx.findQueue(emitted.queue)
  if (queue === undefined) return queueNotFound(emitted.queue)
  if (!('job' in emitted)) return refuseInQueue(tx, queue, emitted.message)
  return refuseJob(tx, queue, emitted.job, messageOf(emitted.job))
}

/** Throws when the queue cannot take it. */
export function* storeEmitted(tx: Transaction, emitted: Emitted): Steps<StoredEmit> {
  const refusal = yield* refuseEmitted(tx, emitted)
  if (refusal !== undefined) throw refusal
  const queue = yield* tx.queue(emitted.queue)
  if ('job' in emitted) return yield* enqueueJob(tx, queue, emitted.job)
  return yield* storeMessage(tx, queue, emitted.message)
}

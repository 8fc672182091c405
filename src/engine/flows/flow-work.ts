/**
 * Messages and jobs that a flow sends: the work of its units, and the message of its end. They are stored
 * as text until they are due. The flow sends each of them once, so deduplication of the queue must not
 * drop it.
 */

import type { Emitted, NewMessage } from '../../backends/backend.ts'
import type { NewJob } from '../../backends/job-store.ts'
import { decodeAttributes, encodeAttributes } from '../../backends/message-attributes.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { type StoredJob, storeJob } from '../jobs/enqueueing.ts'
import { refuseEmitted } from '../messages/emitting.ts'
import { type Stored, storeMessage } from '../messages/sending.ts'
import type { Queue } from '../queues/queue.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'

type StoredEmitted =
  | { readonly queue: string; readonly job: NewJob }
  | { readonly queue: string; readonly message: StoredNewMessage }

type StoredNewMessage = Omit<NewMessage, 'attributes' | 'systemAttributes'> & {
  /** As in the row of a message, since they may be bytes. */
  readonly encoded?: string
}

export function encodeEmitted(emission: Emitted): string {
  if ('job' in emission) return JSON.stringify({ queue: emission.queue, job: emission.job })
  const { attributes, systemAttributes, ...message } = emission.message
  const encoded = encodeAttributes(emission.message)
  const stored: StoredEmitted = {
    queue: emission.queue,
    message: encoded === null ? message : { ...message, encoded },
  }
  return JSON.stringify(stored)
}

export function decodeEmitted(text: string): Emitted {
  const stored: StoredEmitted = JSON.parse(text)
  if ('job' in stored) return stored
  const { encoded, ...message } = stored.message
  const attributes = encoded === undefined ? {} : decodeAttributes(encoded)
  return { queue: stored.queue, message: { ...message, ...attributes } }
}

/** Sends for a unit, or for none; returns the sequence number. Throws when the queue cannot take it. */
export function* sendForFlow(
  tx: Transaction,
  emission: Emitted,
  unit: number | undefined,
): Steps<number> {
  yield* requireEmittable(tx, emission)
  const queue = yield* tx.queue(emission.queue)
  const first = yield* store(tx, queue, emission, unit)
  if (first.status === 'created') return first.sequence
  const again = yield* store(tx, queue, withNewId(emission, tx.ids.next()), unit)
  if (again.status === 'created') return again.sequence
  throw new MillraceError('store_failed')
}

/** Throws when the queue cannot take the message or job. */
export function* requireEmittable(tx: Transaction, emission: Emitted): Steps<void> {
  const refusal = yield* refuseEmitted(tx, emission)
  if (refusal !== undefined) throw refusal
}

function* store(
  tx: Transaction,
  queue: Queue,
  emission: Emitted,
  unit: number | undefined,
): Steps<Stored | StoredJob> {
  if (!('job' in emission)) return yield* storeMessage(tx, queue, emission.message, { unit })
  const { idempotency, ...job } = emission.job
  return yield* storeJob(tx, queue, job, { unit })
}

function withNewId(emission: Emitted, deduplicationId: string): Emitted {
  if ('job' in emission) return { ...emission, job: { ...emission.job, deduplicationId } }
  return { ...emission, message: { ...emission.message, deduplicationId } }
}

/** Stores jobs, and recognises by their idempotency keys those that exist already. */

import { hash } from 'node:crypto'
import { canonicalJson } from '../../../core/canonical-json.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { NewMessage } from '../../backend.ts'
import type { EnqueuedJob, EnqueueJobs, NewJob } from '../../job-store.ts'
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { retentionCutoff } from '../messages/holding.ts'
import {
  isPlain,
  type PlainJob,
  refuseInQueue,
  storeMessage,
  storePlainJobs,
} from '../messages/sending.ts'
import type { Queue } from '../queues/queue-cache.ts'
import { encodeDetails } from './job-details.ts'

const sql = {
  findKey: query<{ number: number; fingerprint: string }>(`
    SELECT number, fingerprint FROM idempotency WHERE scope = ? AND key = ? AND expires_at > ?`),
  rememberKey: change(`
    INSERT OR REPLACE INTO idempotency (scope, key, number, fingerprint, expires_at)
    VALUES (?, ?, ?, ?, ?)`),
  isWaiting: query<unknown>(`
    SELECT 1 FROM message
    WHERE sequence = ? AND generation = ? AND job_type IS NOT NULL AND receive_count = 0
      AND sent_at > ?`),
}

export function enqueueJobs(tx: StoreTransaction, request: EnqueueJobs): readonly EnqueuedJob[] {
  const queue = tx.queue(request.queue)
  const messages = request.jobs.map(messageOf)
  for (const message of messages) {
    const refusal = refuseInQueue(queue, message)
    if (refusal !== undefined) throw refusal
  }
  const isPlainJob = (job: NewJob, index: number): boolean => {
    const message = messages[index]
    return job.idempotency === undefined && message !== undefined && isPlain(queue, message)
  }
  if (request.jobs.length > 1 && request.jobs.every(isPlainJob)) {
    const stored = storePlainJobs(tx, queue, request.jobs.map(plainJobOf))
    return stored.map(({ status, id }) => ({ status, id }))
  }
  return request.jobs.map((job, index) => enqueueJob(tx, queue, job, { message: messages[index] }))
}

function plainJobOf(job: NewJob): PlainJob {
  const { type, owner = null, payload: body } = job
  return { type, owner, body, details: encodeDetails(job) }
}

interface EnqueueOptions {
  /** The message of the job, if the caller has made it already. */
  readonly message?: NewMessage | undefined
  /** The job that this one repeats. */
  readonly retryOf?: string
  /** The unit of a flow that it works on. */
  readonly unit?: number | undefined
}

export function enqueueJob(
  tx: StoreTransaction,
  queue: Queue,
  job: NewJob,
  options?: EnqueueOptions,
): EnqueuedJob {
  const { status, id } = storeJob(tx, queue, job, options)
  return { status, id }
}

export interface StoredJob extends EnqueuedJob {
  readonly sequence: number
}

/** The same, with the sequence number of the message. */
export function storeJob(
  tx: StoreTransaction,
  queue: Queue,
  job: NewJob,
  { message = messageOf(job), retryOf, unit }: EnqueueOptions = {},
): StoredJob {
  const earlier = findEarlier(tx, queue, job)
  if (earlier === 'conflict') throw new MillraceError('idempotency_conflict')
  if (earlier !== undefined) return earlier
  const { type, owner = null, idempotency } = job
  const details = encodeDetails(job, retryOf)
  const stored = storeMessage(tx, queue, message, { job: { type, owner, details }, unit })
  if (idempotency !== undefined && stored.status === 'created') {
    tx.run(
      sql.rememberKey,
      scopeOf(queue, job),
      idempotency.key,
      stored.sequence,
      fingerprintOf(job),
      tx.now + idempotency.lifetimeMs,
    )
  }
  return stored
}

/** The job that was enqueued with the same key, if it still counts. */
function findEarlier(
  tx: StoreTransaction,
  queue: Queue,
  job: NewJob,
): StoredJob | 'conflict' | undefined {
  const { idempotency } = job
  if (idempotency === undefined) return undefined
  const values = [scopeOf(queue, job), idempotency.key, tx.now] as const
  const found = tx.one(sql.findKey, ...values)
  if (found === undefined) return undefined
  const sequence = found.number
  const id = tx.session.messageIds.of(sequence)
  if (idempotency.coalesce) {
    const cutoff = retentionCutoff(queue, tx.now)
    const waits = tx.one(sql.isWaiting, sequence, queue.generation, cutoff) !== undefined
    return waits ? { status: 'coalesced', id, sequence } : undefined
  }
  if (found.fingerprint !== fingerprintOf(job)) return 'conflict'
  return { status: 'duplicate', id, sequence }
}

/** The message that carries a job. */
export function messageOf(job: NewJob): NewMessage {
  const { payload, delayMs, tenant, deduplicationId, systemAttributes } = job
  const isPlain = delayMs === undefined && tenant === undefined
  if (isPlain && deduplicationId === undefined && systemAttributes === undefined) {
    return { body: payload }
  }
  return {
    body: payload,
    ...(delayMs !== undefined && { delayMs }),
    ...(tenant !== undefined && { group: tenant }),
    ...(deduplicationId !== undefined && { deduplicationId }),
    ...(systemAttributes !== undefined && { systemAttributes }),
  }
}

function scopeOf(queue: Queue, { type, owner }: NewJob): string {
  return JSON.stringify([queue.name, type, owner ?? null])
}

function fingerprintOf({ payload }: NewJob): string {
  return hash('sha256', canonicalJson(payload), 'base64')
}

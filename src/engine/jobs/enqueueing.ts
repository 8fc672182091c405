/** Stores jobs, and recognises by their keys those that exist already. */

import { hash } from 'node:crypto'
import type { NewMessage } from '../../backends/backend.ts'
import type { EnqueuedJob, EnqueueJobs, NewJob } from '../../backends/job-store.ts'
import { canonicalJson } from '../../core/canonical-json.ts'
import { attemptsIn, defaultIdempotencyMs } from '../../core/job-defaults.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { PlainJob } from '../messages/native-messages.ts'
import { messageRemoved, type RemovedRow } from '../messages/removing.ts'
import {
  isPlain,
  type JobColumns,
  refuseInQueue,
  storeInPlace,
  storeMessage,
  storePlainJobs,
} from '../messages/sending.ts'
import type { Queue } from '../queues/queue.ts'
import { byKey, change, orReplace, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { encodeDetails } from './job-details.ts'

const sql = {
  findKey: query<{ number: number; fingerprint: string }>(`
    SELECT number, fingerprint FROM idempotency WHERE scope = ? AND key = ? AND expires_at${byKey} > ?`),
  // Its row may outlast its time, because it counts until the job has ended.
  findDebounced: query<{ number: number }>(`
    SELECT number FROM idempotency WHERE scope = ? AND key = ?`),
  rememberKey: change(`
    INSERT INTO idempotency (scope, key, number, fingerprint, expires_at, until_ended)
    VALUES (?, ?, ?, ?, ?, ?)
    ${orReplace('scope, key', 'number, fingerprint, expires_at, until_ended')}`),
  isWaiting: query<unknown>(`
    SELECT 1 FROM message
    WHERE sequence = ? AND generation = ? AND job_type IS NOT NULL AND receive_count = 0
      AND (expires_at IS NULL OR expires_at > ?)`),
  removeWaiting: query<ReplacedRow>(`
    DELETE FROM message
    WHERE sequence = ? AND generation = ? AND job_type IS NOT NULL AND receive_count = 0
    RETURNING sequence, state, group_name, body IS NULL AS apart, sent_at`),
}

interface ReplacedRow extends RemovedRow {
  readonly sent_at: number
}

export function* enqueueJobs(tx: Transaction, request: EnqueueJobs): Steps<readonly EnqueuedJob[]> {
  const queue = yield* tx.queue(request.queue)
  const messages = request.jobs.map((job) => {
    const message = messageOf(job)
    const refusal = refuseJob(tx, queue, job, message)
    if (refusal !== undefined) throw refusal
    return message
  })
  const isPlainJob = (job: NewJob, index: number): boolean => {
    const message = messages[index]
    if (hasKey(job) || job.expiresAfterMs !== undefined) return false
    return message !== undefined && isPlain(queue, message)
  }
  if (request.jobs.every(isPlainJob)) {
    const plain = request.jobs.map((job) => plainJobOf(queue, job))
    const stored = yield* storePlainJobs(tx, queue, plain)
    return stored.map(({ status, id }) => ({ status, id }))
  }
  const enqueued: EnqueuedJob[] = []
  for (const [index, job] of request.jobs.entries()) {
    enqueued.push(yield* enqueueJob(tx, queue, job, { message: messages[index] }))
  }
  return enqueued
}

/** Why the queue cannot take the job. */
export function refuseJob(
  tx: Transaction,
  queue: Queue,
  { debounce }: NewJob,
  message: NewMessage,
): MillraceError | undefined {
  const refusal = refuseInQueue(tx, queue, message, true)
  if (refusal !== undefined || debounce === undefined) return refusal
  if (queue.settings.type === 'standard') return undefined
  const violation = { field: 'debounce', given: 'some', allowed: 'none on a FIFO queue' }
  return MillraceError.invalid([violation])
}

function hasKey({ idempotency, throttle, debounce }: NewJob): boolean {
  return idempotency !== undefined || throttle !== undefined || debounce !== undefined
}

function plainJobOf(queue: Queue, job: NewJob): PlainJob {
  const { type, owner = null, payload: body } = job
  return { type, owner, body, details: encodeDetails(job, maxAttemptsOf(queue, job)) }
}

function maxAttemptsOf({ settings }: Queue, { maxAttempts }: NewJob): number {
  return maxAttempts ?? attemptsIn(settings)
}

interface EnqueueOptions {
  /** The message of the job, if the caller has made it already. */
  readonly message?: NewMessage | undefined
  /** The job that this one repeats. */
  readonly retryOf?: string
  /** The unit of a flow that it works on. */
  readonly unit?: number | undefined
}

export function* enqueueJob(
  tx: Transaction,
  queue: Queue,
  job: NewJob,
  options?: EnqueueOptions,
): Steps<EnqueuedJob> {
  const { status, id } = yield* storeJob(tx, queue, job, options)
  return { status, id }
}

export interface StoredJob extends EnqueuedJob {
  readonly sequence: number
}

/** The same, with the sequence number of the message. */
export function* storeJob(
  tx: Transaction,
  queue: Queue,
  job: NewJob,
  { message = messageOf(job), retryOf, unit }: EnqueueOptions = {},
): Steps<StoredJob> {
  const earlier = hasKey(job) ? yield* findEarlier(tx, queue, job) : undefined
  if (earlier === 'conflict') throw new MillraceError('idempotency_conflict')
  const { type, owner = null, debounce, expiresAfterMs } = job
  if (earlier !== undefined && debounce === undefined) return earlier
  const details = encodeDetails(job, maxAttemptsOf(queue, job), retryOf)
  const columns = { type, owner, details, expiresAfterMs }
  if (earlier !== undefined) {
    yield* replaceWaiting(tx, queue, job, { message, columns, sequence: earlier.sequence })
    return earlier
  }
  const first = debounce === undefined ? message : { ...message, delayMs: debounce.windowMs }
  const stored = yield* storeMessage(tx, queue, first, { job: columns, unit })
  if (hasKey(job) && stored.status === 'created')
    yield* rememberKey(tx, queue, job, stored.sequence)
  return stored
}

interface Replacement {
  readonly message: NewMessage
  readonly columns: JobColumns
  readonly sequence: number
}

/** Stores a debounced job in the place of the one that waits; the longest wait counts from the first. */
function* replaceWaiting(
  tx: Transaction,
  queue: Queue,
  { debounce }: NewJob,
  { message, columns, sequence }: Replacement,
): Steps<void> {
  const removed = yield* tx.one(sql.removeWaiting, sequence, queue.generation)
  if (removed === undefined || debounce === undefined) return
  yield* messageRemoved(tx, queue, removed)
  const { windowMs, maxWaitMs = Number.POSITIVE_INFINITY } = debounce
  const sentAt = removed.sent_at
  const delayMs = Math.max(0, Math.min(windowMs, sentAt + maxWaitMs - tx.now))
  yield* storeInPlace(tx, queue, { ...message, delayMs }, { sequence, sentAt, job: columns })
}

function* rememberKey(tx: Transaction, queue: Queue, job: NewJob, sequence: number): Steps<void> {
  const { idempotency, throttle, debounce } = job
  const key = idempotency?.key ?? throttle?.key ?? debounce?.key ?? ''
  const lifetimeMs =
    throttle?.windowMs ?? debounce?.windowMs ?? idempotency?.lifetimeMs ?? defaultIdempotencyMs
  yield* tx.run(
    sql.rememberKey,
    scopeOf(queue, job),
    key,
    sequence,
    idempotency === undefined ? '' : (fingerprintsOf(job)[0] ?? ''),
    tx.now + lifetimeMs,
    debounce === undefined ? 0 : 1,
  )
}

/** The job that was enqueued with the same key, if it still counts. */
function* findEarlier(
  tx: Transaction,
  queue: Queue,
  job: NewJob,
): Steps<StoredJob | 'conflict' | undefined> {
  const { idempotency, throttle, debounce } = job
  const scope = scopeOf(queue, job)
  yield* tx.lock(`job:${scope}:${idempotency?.key ?? throttle?.key ?? debounce?.key ?? ''}`)
  if (debounce !== undefined) {
    return yield* coalescedWhileWaiting(
      tx,
      queue,
      yield* tx.one(sql.findDebounced, scope, debounce.key),
    )
  }
  const key = idempotency?.key ?? throttle?.key ?? ''
  const found = yield* tx.one(sql.findKey, scope, key, tx.now)
  if (found === undefined) return undefined
  if (idempotency?.coalesce) return yield* coalescedWhileWaiting(tx, queue, found)
  const { number: sequence } = found
  const id = tx.messageIds.of(sequence)
  if (throttle !== undefined) return { status: 'coalesced', id, sequence }
  if (!fingerprintsOf(job).includes(found.fingerprint)) return 'conflict'
  return { status: 'duplicate', id, sequence }
}

/** The job of a key, if it has not started. */
function* coalescedWhileWaiting(
  tx: Transaction,
  queue: Queue,
  found: { readonly number: number } | undefined,
): Steps<StoredJob | undefined> {
  if (found === undefined) return undefined
  const { number: sequence } = found
  const waits = (yield* tx.one(sql.isWaiting, sequence, queue.generation, tx.now)) !== undefined
  return waits ? { status: 'coalesced', id: tx.messageIds.of(sequence), sequence } : undefined
}
/** The message that carries a job. */
export function messageOf(job: NewJob): NewMessage {
  const { payload, delayMs, runAt, tenant, deduplicationId, sealed } = job
  const { attributes, systemAttributes } = job
  const isDueAtOnce = delayMs === undefined && runAt === undefined
  const isBare = tenant === undefined && deduplicationId === undefined && sealed === undefined
  if (isDueAtOnce && isBare && attributes === undefined && systemAttributes === undefined) {
    return { body: payload }
  }
  return {
    body: payload,
    ...(sealed !== undefined && { sealed }),
    ...(delayMs !== undefined && { delayMs }),
    ...(runAt !== undefined && { runAt }),
    ...(tenant !== undefined && { group: tenant }),
    ...(deduplicationId !== undefined && { deduplicationId }),
    ...(attributes !== undefined && { attributes }),
    ...(systemAttributes !== undefined && { systemAttributes }),
  }
}

/** Each kind of key has keys of its own. */
function scopeOf(queue: Queue, { type, owner, throttle, debounce }: NewJob): string {
  const scope = [queue.name, type, owner ?? null]
  if (throttle !== undefined) scope.push('throttle')
  if (debounce !== undefined) scope.push('debounce')
  return JSON.stringify(scope)
}

function fingerprintsOf({ payload, sealed }: NewJob): readonly string[] {
  return sealed?.fingerprints ?? [hash('sha256', canonicalJson(payload), 'base64')]
}

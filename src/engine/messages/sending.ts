/** Stores new messages: checks them against the queue, recognises duplicates, keeps order. */

import type { NewMessage, Send, SendResult } from '../../backends/backend.ts'
import { encodeAttributes } from '../../backends/message-attributes.ts'
import { delayOf, isLongDelay, refuseMessage } from '../../core/check-message.ts'
import type { Violations } from '../../core/checks.ts'
import { limitValuesIn } from '../../core/limit-keys.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Queue } from '../queues/queue.ts'
import { change, type Statement, type Value } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import { findDuplicate, idForDeduplication, rememberId } from './deduplicating.ts'
import { hasOwnExpiries, hold, latest, ownExpiryOf, withOwnExpiry } from './expiry.ts'
import { groupGained } from './groups.ts'
import { delayed, isLargeBody, ready, unleasedToken } from './message-rows.ts'
import type { PlainJob } from './native-messages.ts'

const full = (column: string, value: string): Statement =>
  change(`
    INSERT INTO message (
      sequence, generation, state, due_at, token, leased_at, receive_count, sent_at, held_until,
      expires_at, delayed_until, group_name, deduplication_id, attributes, body, job_type, job_owner,
      job, unit${column}
    ) VALUES (?, ?, ?, ?, ${unleasedToken}, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?${value})`)

const sql = {
  storeLargeBody: change('INSERT INTO message_body (sequence, body) VALUES (?, ?)'),
  insert: full('', ''),
  insertKeyed: full(', limit_keys', ', ?'),
  setPast: change('UPDATE message SET id = ?, origin = ?, job = ?, sent_at = ? WHERE sequence = ?'),
}

export function* sendMessages(tx: Transaction, request: Send): Steps<readonly SendResult[]> {
  const queue = yield* tx.queue(request.queue)
  const { messages, allOrNothing } = request
  const [only] = messages
  if (only !== undefined && messages.length === 1 && isPlain(queue, only)) {
    // By far the most common call: its steps are counted.
    const refusal = refuseInQueue(tx, queue, only)
    if (refusal === undefined) {
      const place = tx.hasChangedQueues ? yield* latest(tx, queue) : queue
      const [sequence = 0] = yield* tx.messages.storePlain(place, messages)
      countPlain(tx, place, 1)
      return [sent(tx, 'created', sequence)]
    }
  }
  const refusals = messages.map((message) => refuseInQueue(tx, queue, message))
  const first = allOrNothing ? refusals.find((refusal) => refusal !== undefined) : undefined
  if (first !== undefined) throw first
  const results: SendResult[] = []
  let plain: NewMessage[] = []
  for (const [index, message] of messages.entries()) {
    const error = refusals[index]
    if (error === undefined && isPlain(queue, message)) {
      plain.push(message)
      continue
    }
    if (plain.length > 0) results.push(...(yield* storePlain(tx, queue, plain)))
    plain = []
    if (error !== undefined) results.push({ status: 'refused', error })
    else results.push(yield* storeMessage(tx, queue, message))
  }
  if (plain.length > 0) results.push(...(yield* storePlain(tx, queue, plain)))
  return results
}

function* storePlain(
  tx: Transaction,
  queue: Queue,
  messages: readonly NewMessage[],
): Steps<readonly Stored[]> {
  const place = tx.hasChangedQueues ? yield* latest(tx, queue) : queue
  const sequences = yield* tx.messages.storePlain(place, messages)
  countPlain(tx, place, messages.length)
  return sequences.map((sequence) => sent(tx, 'created', sequence))
}

export function* storePlainJobs(
  tx: Transaction,
  queue: Queue,
  jobs: readonly PlainJob[],
): Steps<readonly Stored[]> {
  const place = hasOwnExpiries(queue) ? queue : yield* forNewJobs(tx, queue)
  const sequences = yield* tx.messages.storePlainJobs(place, jobs)
  countPlain(tx, place, jobs.length)
  return sequences.map((sequence) => sent(tx, 'created', sequence))
}

function countPlain(tx: Transaction, queue: Queue, count: number): void {
  tx.count(queue, 'sent', count)
  tx.count(queue, 'ready', count)
  tx.gainedReady(queue)
}

/** The queue, in which every plain message behind a new job has its own expiry. */
function* forNewJobs(tx: Transaction, queue: Queue): Steps<Queue> {
  return yield* withOwnExpiry(tx, queue, (yield* tx.lastSequence()) + 1)
}

export function refuseInQueue(
  view: View,
  queue: Queue,
  message: NewMessage,
  isJob = false,
): MillraceError | undefined {
  const refusal = refuseMessage(message, queue.settings, view.now, isJob)
  const { perKey } = queue.settings.ceilings
  if (refusal !== undefined || perKey.length === 0) return refusal
  const violations: Violations = []
  limitValuesIn(view.open(message.body), perKey, violations)
  return violations.length === 0 ? undefined : MillraceError.invalid(violations, 'invalid_message')
}

/** What makes a message a tracked job. */
export interface JobColumns {
  readonly type: string
  readonly owner: string | null
  readonly details: string
  /** How long after it is due it fails, if it still waits then. */
  readonly expiresAfterMs?: number | undefined
}

/** What is stored with a message besides what its sender says. */
export interface MessageExtras {
  readonly job?: JobColumns | undefined
  /** The unit of a flow that it works on. */
  readonly unit?: number | undefined
  /** What it was before it came to this store, or to this queue. */
  readonly past?: PastColumns
}

export interface PastColumns {
  readonly id: string
  readonly sentAt: number
  /** Of a dead letter, as JSON. */
  readonly origin: string | null
  readonly details: string | null
}

const noExtras: MessageExtras = {}

export interface Stored {
  readonly status: 'created' | 'duplicate'
  readonly id: string
  readonly sequence: number
}

/** Stores a message that the queue takes. */
export function* storeMessage(
  tx: Transaction,
  queue: Queue,
  message: NewMessage,
  { job, unit, past }: MessageExtras = noExtras,
): Steps<Stored> {
  const isBare = unit === undefined && past === undefined && job?.expiresAfterMs === undefined
  if (isBare && isPlain(queue, message)) {
    const [stored] =
      job === undefined
        ? yield* storePlain(tx, queue, [message])
        : yield* storePlainJobs(tx, queue, [{ ...job, body: message.body }])
    if (stored !== undefined) return stored
  }
  const fifo = queue.settings.type === 'fifo'
  const deduplicationId = fifo ? idForDeduplication(message) : null
  if (deduplicationId !== null) {
    const first = yield* findDuplicate(tx, queue, message, deduplicationId)
    if (first !== undefined) {
      tx.count(queue, 'deduplicated', 1)
      return sent(tx, 'duplicate', first.sequence)
    }
  }
  const sequence = yield* tx.nextSequence()
  const place = yield* job === undefined ? latest(tx, queue) : withOwnExpiry(tx, queue, sequence)
  const delayMs = delayOf(message, place.settings, tx.now)
  yield* insert(tx, place, message, { sequence, deduplicationId, job, unit, delayMs })
  if (past !== undefined) {
    const { id, origin, details, sentAt } = past
    yield* tx.run(sql.setPast, id, origin, details, sentAt, sequence)
  }
  countStored(tx, place, delayMs)
  if (fifo && message.group !== undefined && delayMs === 0) {
    yield* groupGained(tx, place.generation, message.group, sequence)
  }
  if (deduplicationId !== null) yield* rememberId(tx, queue, message, sequence, deduplicationId)
  tx.count(queue, 'sent', 1)
  return sent(tx, 'created', sequence)
}

function sent(view: View, status: Stored['status'], sequence: number): Stored {
  return { status, id: view.messageIds.of(sequence), sequence }
}

/** The place of another message, which its successor in a standard queue takes. */
export interface Place {
  readonly sequence: number
  readonly sentAt: number
  readonly job: JobColumns
}

export function* storeInPlace(
  tx: Transaction,
  queue: Queue,
  message: NewMessage,
  place: Place,
): Steps<void> {
  const delayMs = delayOf(message, queue.settings, tx.now)
  yield* insert(tx, queue, message, { ...place, deduplicationId: null, unit: undefined, delayMs })
  countStored(tx, queue, delayMs)
}

function countStored(tx: Transaction, queue: Queue, delayMs: number): void {
  if (delayMs > 0) {
    tx.count(queue, 'delayed', 1)
    return
  }
  tx.count(queue, 'ready', 1)
  tx.gainedReady(queue)
}

/** Whether a message is stored with nothing but its body. */
export function isPlain({ settings }: Queue, message: NewMessage): boolean {
  const { group, attributes, systemAttributes, delayMs = settings.delayMs, runAt } = message
  return (
    settings.type === 'standard' &&
    settings.ceilings.perKey.length === 0 &&
    delayMs === 0 &&
    runAt === undefined &&
    group === undefined &&
    attributes === undefined &&
    systemAttributes === undefined &&
    !isLargeBody(message.body)
  )
}

interface Identity {
  readonly sequence: number
  readonly deduplicationId: string | null
  readonly job: JobColumns | undefined
  readonly unit: number | undefined
  readonly delayMs: number
  /** Default: now. */
  readonly sentAt?: number
}

function* insert(
  tx: Transaction,
  queue: Queue,
  message: NewMessage,
  identity: Identity,
): Steps<void> {
  const { now } = tx
  const { sequence, deduplicationId, job, unit, delayMs, sentAt = now } = identity
  const until = now + delayMs
  const expiresAt = yield* newExpiry(tx, queue, identity)
  const retentionEnds = job === undefined ? now + queue.settings.retentionMs : null
  const { dueAt, heldUntil } = hold(until, expiresAt ?? retentionEnds ?? Number.POSITIVE_INFINITY)
  const apart = isLargeBody(message.body)
  const { perKey } = queue.settings.ceilings
  const limitKeys = perKey.length === 0 ? null : limitValuesIn(tx.open(message.body), perKey)
  const values: Value[] = [
    sequence,
    queue.generation,
    delayMs > 0 ? delayed : ready,
    dueAt,
    now,
    sentAt,
    heldUntil,
    expiresAt,
    isLongDelay(delayMs) ? until : null,
    message.group ?? null,
    deduplicationId,
    encodeAttributes(message),
    apart ? null : message.body,
    job?.type ?? null,
    job?.owner ?? null,
    job?.details ?? null,
    unit ?? null,
  ]
  if (limitKeys !== null) values.push(limitKeys)
  yield* tx.run(limitKeys === null ? sql.insert : sql.insertKeyed, ...values)
  if (apart) yield* tx.run(sql.storeLargeBody, sequence, message.body)
}

/** A job's limit counts from when it is due. So does the retention of a message with a long delay. */
function* newExpiry(
  tx: Transaction,
  queue: Queue,
  { sequence, job, delayMs }: Identity,
): Steps<number | null> {
  const { now } = tx
  if (job !== undefined) {
    return job.expiresAfterMs === undefined ? null : now + delayMs + job.expiresAfterMs
  }
  const keptFrom = isLongDelay(delayMs) ? now + delayMs : now
  return yield* ownExpiryOf(tx, queue, { sequence, sentAt: now, keptFrom })
}

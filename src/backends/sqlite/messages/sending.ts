/** Stores new messages: checks them against the queue, recognises duplicates, keeps order. */

import type { SQLInputValue } from 'node:sqlite'
import { delayOf, isLongDelay, refuseMessage } from '../../../core/check-message.ts'
import type { Violations } from '../../../core/checks.ts'
import { limitValuesIn } from '../../../core/limit-keys.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { NewMessage, Send, SendResult } from '../../backend.ts'
import { encodeAttributes } from '../../message-attributes.ts'
import { change, type Statement } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import type { Queue } from '../queues/queue-cache.ts'
import { findDuplicate, idForDeduplication, rememberId } from './deduplicating.ts'
import { hold, latest, ownExpiryOf, withOwnExpiry } from './expiry.ts'
import { groupGained } from './groups.ts'
import { delayed, isLargeBody, ready, unleasedToken } from './message-rows.ts'

/** Messages and jobs that one statement stores; each call of a statement has its price. */
const messagesAtOnce = 10
const jobsAtOnce = 25

const plainJobs = (count: number): Statement => {
  const row = `(?, ?, 0, ?, ${unleasedToken}, ?, 0, ?, ?, ?, ?, ?)`
  return change(`
    INSERT INTO message (
      sequence, generation, state, due_at, token, leased_at, receive_count, sent_at, body,
      job_type, job_owner, job
    ) VALUES ${rowsOf(count, row)}`)
}
/** The most common message binds half the values, and binding is what costs time. */
const plainMessages = (count: number): Statement => {
  const row = `(?, ?, 0, ?, ${unleasedToken}, ?, 0, ?, ?)`
  return change(`
    INSERT INTO message (
      sequence, generation, state, due_at, token, leased_at, receive_count, sent_at, body
    ) VALUES ${rowsOf(count, row)}`)
}

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
  insertPlain: plainMessages(1),
  insertPlainMany: plainMessages(messagesAtOnce),
  insertPlainJob: plainJobs(1),
  insertPlainJobs: plainJobs(jobsAtOnce),
}

function rowsOf(count: number, row: string): string {
  return Array.from({ length: count }, () => row).join(', ')
}

export function sendMessages(tx: StoreTransaction, request: Send): readonly SendResult[] {
  const queue = tx.queue(request.queue)
  if (request.allOrNothing) {
    for (const message of request.messages) {
      const refusal = refuseInQueue(tx, queue, message)
      if (refusal !== undefined) throw refusal
    }
  }
  const results: SendResult[] = []
  let batch: NewMessage[] = []
  for (const message of request.messages) {
    const error = request.allOrNothing ? undefined : refuseInQueue(tx, queue, message)
    if (error === undefined && isOrdinary(tx, queue) && isPlain(queue, message)) {
      batch.push(message)
      if (batch.length < messagesAtOnce) continue
      results.push(...storePlainMessages(tx, queue, batch))
    } else {
      results.push(...batch.map((waiting) => storeMessage(tx, queue, waiting)))
      results.push(
        error === undefined ? storeMessage(tx, queue, message) : { status: 'refused', error },
      )
    }
    batch = []
  }
  results.push(...batch.map((waiting) => storeMessage(tx, queue, waiting)))
  return results
}

/** Whether new messages of the queue expire by its retention, and store nothing about it. */
function isOrdinary(tx: StoreTransaction, queue: Queue): boolean {
  return tx.lastSequence < latest(tx, queue).ownExpiryFrom
}

/** Stores as many plain messages as one statement takes. */
function storePlainMessages(
  tx: StoreTransaction,
  queue: Queue,
  messages: readonly NewMessage[],
): readonly Stored[] {
  const { now, session } = tx
  const values: SQLInputValue[] = []
  const stored = messages.map(({ body }) => {
    const sequence = tx.nextSequence()
    values.push(sequence, queue.generation, now, now, now, body)
    return sent(tx, 'created', sequence)
  })
  session.prepared(sql.insertPlainMany).run(...values)
  tx.count(queue, 'sent', messages.length)
  tx.count(queue, 'ready', messages.length)
  tx.gainedReady(queue)
  return stored
}

export function refuseInQueue(
  { now, session }: StoreTransaction,
  queue: Queue,
  message: NewMessage,
  isJob = false,
): MillraceError | undefined {
  const refusal = refuseMessage(message, queue.settings, now, isJob)
  const { perKey } = queue.settings.ceilings
  if (refusal !== undefined || perKey.length === 0) return refusal
  const violations: Violations = []
  limitValuesIn(session.open(message.body), perKey, violations)
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
}

const noExtras: MessageExtras = {}

export interface Stored {
  readonly status: 'created' | 'duplicate'
  readonly id: string
  readonly sequence: number
}

/** Stores a message that the queue takes. */
export function storeMessage(
  tx: StoreTransaction,
  queue: Queue,
  message: NewMessage,
  { job, unit }: MessageExtras = noExtras,
): Stored {
  const fifo = queue.settings.type === 'fifo'
  const deduplicationId = fifo ? idForDeduplication(message) : null
  if (deduplicationId !== null) {
    const first = findDuplicate(tx, queue, message, deduplicationId)
    if (first !== undefined) {
      tx.count(queue, 'deduplicated', 1)
      return sent(tx, 'duplicate', first.sequence)
    }
  }
  const sequence = tx.nextSequence()
  const place = job === undefined ? latest(tx, queue) : withOwnExpiry(tx, queue, sequence)
  insert(tx, place, message, { sequence, deduplicationId, job, unit })
  if (deduplicationId !== null) rememberId(tx, queue, message, sequence, deduplicationId)
  tx.count(queue, 'sent', 1)
  return sent(tx, 'created', sequence)
}

function sent(tx: StoreTransaction, status: Stored['status'], sequence: number): Stored {
  return { status, id: tx.session.messageIds.of(sequence), sequence }
}

/** The place of another message, which its successor in a standard queue takes. */
export interface Place {
  readonly sequence: number
  readonly sentAt: number
  readonly job: JobColumns
}

export function storeInPlace(
  tx: StoreTransaction,
  queue: Queue,
  message: NewMessage,
  place: Place,
): void {
  const delayMs = delayOf(message, queue.settings, tx.now)
  insertFull(tx, queue, message, { ...place, deduplicationId: null, unit: undefined, delayMs })
  countStored(tx, queue, delayMs)
}

interface Identity {
  readonly sequence: number
  readonly deduplicationId: string | null
  readonly job: JobColumns | undefined
  readonly unit: number | undefined
}

function insert(tx: StoreTransaction, queue: Queue, message: NewMessage, identity: Identity): void {
  const { settings, generation } = queue
  const { group, attributes, systemAttributes } = message
  const delayMs = delayOf(message, settings, tx.now)
  const { sequence, job } = identity
  const hasExpiry =
    job === undefined ? sequence >= queue.ownExpiryFrom : job.expiresAfterMs !== undefined
  const hasExtras =
    hasExpiry ||
    group !== undefined ||
    attributes !== undefined ||
    systemAttributes !== undefined ||
    identity.unit !== undefined ||
    settings.ceilings.perKey.length > 0
  if (hasExtras || delayMs > 0 || isLargeBody(message.body)) {
    insertFull(tx, queue, message, { ...identity, delayMs })
  } else {
    insertPlain(tx, generation, message.body, identity)
  }
  countStored(tx, queue, delayMs)
  if (settings.type === 'fifo' && group !== undefined && delayMs === 0) {
    groupGained(tx, generation, group, identity.sequence)
  }
}

function countStored(tx: StoreTransaction, queue: Queue, delayMs: number): void {
  if (delayMs > 0) {
    tx.count(queue, 'delayed', 1)
    return
  }
  tx.count(queue, 'ready', 1)
  tx.gainedReady(queue)
}

function insertPlain(
  { now, session }: StoreTransaction,
  generation: number,
  body: string,
  { sequence, job }: Identity,
): void {
  if (job === undefined) {
    session.prepared(sql.insertPlain).run(sequence, generation, now, now, now, body)
  } else {
    const { type, owner, details } = job
    const insert = session.prepared(sql.insertPlainJob)
    insert.run(sequence, generation, now, now, now, body, type, owner, details)
  }
}

export interface PlainJob extends JobColumns {
  readonly body: string
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

/** Stores plain jobs that the queue takes, several with each statement. */
export function storePlainJobs(
  tx: StoreTransaction,
  queue: Queue,
  jobs: readonly PlainJob[],
): readonly Stored[] {
  const { now, session } = tx
  withOwnExpiry(tx, queue, tx.lastSequence + 1)
  const together = jobs.length - (jobs.length % jobsAtOnce)
  const stored: Stored[] = []
  let values: SQLInputValue[] = []
  for (const [index, { body, type, owner, details }] of jobs.entries()) {
    const sequence = tx.nextSequence()
    stored.push(sent(tx, 'created', sequence))
    if (index >= together) {
      insertPlain(tx, queue.generation, body, {
        sequence,
        deduplicationId: null,
        job: { type, owner, details },
        unit: undefined,
      })
      continue
    }
    values.push(sequence, queue.generation, now, now, now, body, type, owner, details)
    if (index % jobsAtOnce === jobsAtOnce - 1) {
      session.prepared(sql.insertPlainJobs).run(...values)
      values = []
    }
  }
  tx.count(queue, 'sent', jobs.length)
  tx.count(queue, 'ready', jobs.length)
  tx.gainedReady(queue)
  return stored
}

interface DelayedIdentity extends Identity {
  readonly delayMs: number
  /** Default: now. */
  readonly sentAt?: number
}

function insertFull(
  tx: StoreTransaction,
  queue: Queue,
  message: NewMessage,
  identity: DelayedIdentity,
): void {
  const { now, session } = tx
  const { sequence, deduplicationId, job, unit, delayMs, sentAt = now } = identity
  const until = now + delayMs
  const expiresAt = newExpiry(tx, queue, identity)
  const retentionEnds = job === undefined ? now + queue.settings.retentionMs : null
  const { dueAt, heldUntil } = hold(until, expiresAt ?? retentionEnds ?? Number.POSITIVE_INFINITY)
  const apart = isLargeBody(message.body)
  const { perKey } = queue.settings.ceilings
  const limitKeys = perKey.length === 0 ? null : limitValuesIn(session.open(message.body), perKey)
  const values: SQLInputValue[] = [
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
  session.prepared(limitKeys === null ? sql.insert : sql.insertKeyed).run(...values)
  if (apart) session.run(sql.storeLargeBody, sequence, message.body)
}

/** A job's limit counts from when it is due. So does the retention of a message with a long delay. */
function newExpiry(
  tx: StoreTransaction,
  queue: Queue,
  { sequence, job, delayMs }: DelayedIdentity,
): number | null {
  const { now } = tx
  if (job !== undefined) {
    return job.expiresAfterMs === undefined ? null : now + delayMs + job.expiresAfterMs
  }
  const keptFrom = isLongDelay(delayMs) ? now + delayMs : now
  return ownExpiryOf(tx, queue, { sequence, sentAt: now, keptFrom })
}

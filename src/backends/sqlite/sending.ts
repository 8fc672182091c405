/** Stores new messages: checks them against the queue, recognises duplicates, keeps order. */
import { hash } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { refuseMessage } from '../../core/check-message.ts'
import { deduplicationWindowMs } from '../../core/limits.ts'
import type { MillraceError } from '../../core/millrace-error.ts'
import type { NewMessage, Send, SendResult } from '../backend.ts'
import { groupGained } from './groups.ts'
import { delayed, encodeAttributes, isKeptApart, nobodysToken, ready } from './messages.ts'
import { getRow } from './rows.ts'
import type { Queue } from './topology.ts'
import type { StoreTransaction } from './transaction.ts'

export interface SendingStatements {
  readonly insert: StatementSync
  readonly findDuplicate: StatementSync
  readonly rememberId: StatementSync
}

export function prepareSending(db: DatabaseSync): SendingStatements {
  return {
    insert: db.prepare(`
      INSERT INTO message (
        sequence, generation, state, due_at, visible_at, token, leased_at, receive_count,
        first_received_at, sent_at, id, group_name, deduplication_id, attributes, body
      ) VALUES (?, ?, ?, ?, ?, ${nobodysToken}, ?6, 0, ?6, ?6, ?, ?, ?, ?, ?)`),
    findDuplicate: db.prepare(`
      SELECT message_id, sequence FROM deduplication
      WHERE generation = ? AND scope = ? AND id = ? AND expires_at > ?`),
    rememberId: db.prepare(`
      INSERT OR REPLACE INTO deduplication (generation, scope, id, message_id, sequence, expires_at)
      VALUES (?, ?, ?, ?, ?, ?)`),
  }
}

export function sendMessages(tx: StoreTransaction, request: Send): readonly SendResult[] {
  const queue = tx.queue(request.queue)
  if (request.allOrNothing) {
    for (const message of request.messages) {
      const refusal = refuse(queue, message)
      if (refusal !== undefined) throw refusal
    }
  }
  return request.messages.map((message) => {
    const error = request.allOrNothing ? undefined : refuse(queue, message)
    return error === undefined ? storeMessage(tx, queue, message) : { status: 'refused', error }
  })
}

export function refuse(queue: Queue, message: NewMessage): MillraceError | undefined {
  return refuseMessage(message, queue.settings)
}

/** Stores a message that the queue takes. */
export function storeMessage(tx: StoreTransaction, queue: Queue, message: NewMessage): SendResult {
  const fifo = queue.settings.type === 'fifo'
  const deduplicationId = fifo ? idForDeduplication(message) : null
  if (deduplicationId !== null) {
    const first = findDuplicate(tx, queue, message, deduplicationId)
    if (first !== undefined) {
      tx.count(queue, 'deduplicated', 1)
      return { status: 'duplicate', id: first.message_id, sequence: first.sequence }
    }
  }
  const sequence = tx.nextSequence()
  const id = tx.session.ids.next()
  insert(tx, queue, message, { id, sequence, deduplicationId })
  if (deduplicationId !== null) remember(tx, queue, message, { id, sequence, deduplicationId })
  tx.count(queue, 'sent', 1)
  return { status: 'created', id, sequence }
}

interface Identity {
  readonly id: string
  readonly sequence: number
  readonly deduplicationId: string | null
}

function insert(tx: StoreTransaction, queue: Queue, message: NewMessage, identity: Identity): void {
  const { settings, generation } = queue
  const { sequence, id, deduplicationId } = identity
  const delayMs =
    settings.type === 'fifo' ? settings.delayMs : (message.delayMs ?? settings.delayMs)
  const group = message.group ?? null
  const apart = isKeptApart(message.body)
  const isDelayed = delayMs > 0
  const visibleAt = tx.now + delayMs
  tx.session.sending.insert.run(
    sequence,
    generation,
    isDelayed ? delayed : ready,
    Math.min(visibleAt, tx.now + settings.retentionMs),
    visibleAt,
    tx.now,
    id,
    group,
    deduplicationId,
    encodeAttributes(message),
    apart ? null : message.body,
  )
  if (apart) tx.session.bodies.keepApart.run(sequence, message.body)
  if (isDelayed) {
    tx.count(queue, 'delayed', 1)
    return
  }
  tx.count(queue, 'ready', 1)
  tx.gainedReady(queue)
  if (settings.type === 'fifo' && group !== null) groupGained(tx, generation, group, sequence)
}

function idForDeduplication(message: NewMessage): string {
  return message.deduplicationId ?? hash('sha256', message.body)
}

function scopeOf(queue: Queue, message: NewMessage): string {
  return queue.settings.deduplicationScope === 'group' ? (message.group ?? '') : ''
}

function findDuplicate(
  tx: StoreTransaction,
  queue: Queue,
  message: NewMessage,
  deduplicationId: string,
): { readonly message_id: string; readonly sequence: number } | undefined {
  const { findDuplicate } = tx.session.sending
  return getRow(findDuplicate, queue.generation, scopeOf(queue, message), deduplicationId, tx.now)
}

function remember(
  tx: StoreTransaction,
  queue: Queue,
  message: NewMessage,
  { id, sequence, deduplicationId }: Identity,
): void {
  tx.session.sending.rememberId.run(
    queue.generation,
    scopeOf(queue, message),
    deduplicationId,
    id,
    sequence,
    tx.now + deduplicationWindowMs,
  )
}

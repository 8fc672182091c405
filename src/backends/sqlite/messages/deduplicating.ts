/** Recognises messages that were sent to a FIFO queue before. */
import { hash } from 'node:crypto'
import { deduplicationWindowMs } from '../../../core/limits.ts'
import type { NewMessage } from '../../backend.ts'
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import type { Queue } from '../queues/queue-cache.ts'

const sql = {
  findDuplicate: query<{ sequence: number }>(`
    SELECT sequence FROM deduplication
    WHERE generation = ? AND scope = ? AND id = ? AND expires_at > ?`),
  rememberId: change(`
    INSERT OR REPLACE INTO deduplication (generation, scope, id, sequence, expires_at)
    VALUES (?, ?, ?, ?, ?)`),
}

export function idForDeduplication({ deduplicationId, sealed, body }: NewMessage): string {
  return deduplicationId ?? sealed?.fingerprints[0] ?? hash('sha256', body)
}

function scopeOf(queue: Queue, message: NewMessage): string {
  return queue.settings.deduplicationScope === 'group' ? (message.group ?? '') : ''
}

export function findDuplicate(
  tx: StoreTransaction,
  queue: Queue,
  message: NewMessage,
  deduplicationId: string,
): { readonly sequence: number } | undefined {
  const scope = scopeOf(queue, message)
  const find = (id: string): { readonly sequence: number } | undefined =>
    tx.one(sql.findDuplicate, queue.generation, scope, id, tx.now)
  const found = find(deduplicationId)
  if (found !== undefined || message.deduplicationId !== undefined) return found
  for (const earlier of message.sealed?.fingerprints.slice(1) ?? []) {
    const before = find(earlier)
    if (before !== undefined) return before
  }
  return undefined
}

export function rememberId(
  tx: StoreTransaction,
  queue: Queue,
  message: NewMessage,
  sequence: number,
  deduplicationId: string,
): void {
  tx.run(
    sql.rememberId,
    queue.generation,
    scopeOf(queue, message),
    deduplicationId,
    sequence,
    tx.now + deduplicationWindowMs,
  )
}

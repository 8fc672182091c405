/** Recognises messages that were sent to a FIFO queue before. */

import { hash } from 'node:crypto'
import type { NewMessage } from '../../backends/backend.ts'
import { deduplicationWindowMs } from '../../core/limits.ts'
import type { Queue } from '../queues/queue.ts'
import { byKey, change, orReplace, query } from '../statements.ts'
import type { Step, Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'

const sql = {
  findDuplicate: query<{ sequence: number }>(`
    SELECT sequence FROM deduplication
    WHERE generation = ? AND scope = ? AND id = ? AND expires_at${byKey} > ?`),
  rememberId: change(`
    INSERT INTO deduplication (generation, scope, id, sequence, expires_at)
    VALUES (?, ?, ?, ?, ?)
    ${orReplace('generation, scope, id', 'sequence, expires_at')}`),
}

export function idForDeduplication({ deduplicationId, sealed, body }: NewMessage): string {
  return deduplicationId ?? sealed?.fingerprints[0] ?? hash('sha256', body)
}

function scopeOf(queue: Queue, message: NewMessage): string {
  return queue.settings.deduplicationScope === 'group' ? (message.group ?? '') : ''
}

export function* findDuplicate(
  tx: Transaction,
  queue: Queue,
  message: NewMessage,
  deduplicationId: string,
): Steps<{ readonly sequence: number } | undefined> {
  const scope = scopeOf(queue, message)
  const find = (id: string): Step<{ readonly sequence: number } | undefined> =>
    tx.one(sql.findDuplicate, queue.generation, scope, id, tx.now)
  const found = yield* find(deduplicationId)
  if (found !== undefined || message.deduplicationId !== undefined) return found
  for (const earlier of message.sealed?.fingerprints.slice(1) ?? []) {
    const before = yield* find(earlier)
    if (before !== undefined) return before
  }
  return undefined
}

export function* rememberId(
  tx: Transaction,
  queue: Queue,
  message: NewMessage,
  sequence: number,
  deduplicationId: string,
): Steps<void> {
  yield* tx.run(
    sql.rememberId,
    queue.generation,
    scopeOf(queue, message),
    deduplicationId,
    sequence,
    tx.now + deduplicationWindowMs,
  )
}

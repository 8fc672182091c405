/** Reads messages in pages without receiving them. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Page, Peek, PeekedMessage } from '../backend.ts'
import { type MessageRow, messageColumns, peekedFromRow, stateNames } from './messages.ts'
import { allRows, upTo } from './rows.ts'
import type { StoreTransaction } from './transaction.ts'
import { catchUpFully } from './upkeep.ts'

export interface PeekStatements {
  readonly ready: StatementSync
  readonly waiting: StatementSync
}

export function preparePeeking(db: DatabaseSync): PeekStatements {
  return {
    ready: db.prepare(`
      SELECT ${messageColumns} FROM message INDEXED BY message_ready
      WHERE generation = ? AND state = 0 AND sequence > ? ORDER BY sequence ${upTo}`),
    waiting: db.prepare(`
      SELECT ${messageColumns} FROM message INDEXED BY message_due
      WHERE generation = ? AND state = ? AND state > 0 AND (due_at, sequence) > (?, ?)
      ORDER BY due_at, sequence ${upTo}`),
  }
}

/** Due messages are caught up with first, so that each is shown in the state it really has. */
export function peekMessages(tx: StoreTransaction, request: Peek): Page<PeekedMessage> {
  const queue = tx.queue(request.queue)
  catchUpFully(tx, queue)
  const cursor = parseCursor(request.after)
  const { peeking } = tx.session
  const rows =
    request.state === 'ready'
      ? allRows<MessageRow>(peeking.ready, queue.generation, cursor.sequence, request.limit + 1)
      : allRows<MessageRow>(
          peeking.waiting,
          queue.generation,
          stateNames.indexOf(request.state),
          cursor.dueAt,
          cursor.sequence,
          request.limit + 1,
        )
  const page = rows.slice(0, request.limit)
  const items = page.map((row) => peekedFromRow(row, tx.session))
  const last = page.at(-1)
  return rows.length > request.limit && last !== undefined
    ? { items, next: `${last.due_at}-${last.sequence}` }
    : { items }
}

function parseCursor(text: string | undefined): { dueAt: number; sequence: number } {
  if (text === undefined) return { dueAt: 0, sequence: 0 }
  const match = /^(\d{1,15})-(\d{1,15})$/.exec(text)
  if (match === null) {
    const allowed = "the 'next' of an earlier page"
    throw MillraceError.invalid([{ field: 'after', given: 'another text', allowed }])
  }
  return { dueAt: Number(match[1]), sequence: Number(match[2]) }
}

/** Reads messages in pages without receiving them. */

import { MillraceError } from '../../../core/millrace-error.ts'
import type { Page, Peek, PeekedMessage } from '../../backend.ts'
import { query, upTo } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import type { Queue } from '../queues/queue-cache.ts'
import { endAllDue } from './elapsed-time.ts'
import {
  blocked,
  type MessageRow,
  messageColumns,
  peekedFromRow,
  stateNames,
} from './message-rows.ts'

const sql = {
  ready: query<MessageRow>(`
    SELECT ${messageColumns} FROM message INDEXED BY message_ready
    WHERE generation = ? AND state = 0 AND sequence > ? ORDER BY sequence ${upTo}`),
  waiting: query<MessageRow>(`
    SELECT ${messageColumns} FROM message INDEXED BY message_due
    WHERE generation = ? AND state = ? AND state > 0 AND (due_at, sequence) > (?, ?)
    ORDER BY due_at, sequence ${upTo}`),
}

/** Ends what is due first, so that each message is shown in the state it really has. */
export function peekMessages(tx: StoreTransaction, request: Peek): Page<PeekedMessage> {
  const queue = tx.queue(request.queue)
  endAllDue(tx, queue)
  const cursor = parseCursor(request.after)
  const rows =
    request.state === 'ready'
      ? readyRows(tx, queue, cursor, request.limit + 1)
      : tx.all(
          sql.waiting,
          queue.generation,
          stateNames.indexOf(request.state),
          cursor.at,
          cursor.sequence,
          request.limit + 1,
        )
  const page = rows.slice(0, request.limit)
  const items = page.map((row) => peekedFromRow(row, tx.session))
  const last = page.at(-1)
  if (rows.length <= request.limit || last === undefined) return { items }
  const at = request.state === 'ready' ? last.sent_at : last.due_at
  return { items, next: `${at}-${last.sequence}` }
}

/** Ready messages and those that wait in buckets, in the one order that they have outside. */
export function readyRows(
  { session }: StoreTransaction,
  { generation }: Queue,
  after: Cursor,
  count: number,
): readonly MessageRow[] {
  const values = [generation, blocked, after.at, after.sequence, count] as const
  return [
    ...session.all(sql.ready, generation, after.sequence, count),
    ...session.all(sql.waiting, ...values),
  ]
    .sort((left, right) => left.sequence - right.sequence)
    .slice(0, count)
}

/** The last row of a page: when it is due or, if it is ready, when it was sent. */
export interface Cursor {
  readonly at: number
  readonly sequence: number
}

export function parseCursor(text: string | undefined): Cursor {
  if (text === undefined) return { at: 0, sequence: 0 }
  const match = /^(\d{1,15})-(\d{1,15})$/.exec(text)
  if (match === null) {
    const allowed = "the 'next' of an earlier page"
    throw MillraceError.invalid([{ field: 'after', given: 'another text', allowed }])
  }
  return { at: Number(match[1]), sequence: Number(match[2]) }
}

/** Reads messages in pages without receiving them. */

import type { Page, Peek, PeekedMessage } from '../../backends/backend.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Queue } from '../queues/queue.ts'
import { query, upTo } from '../statements.ts'
import { inTurn, type Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
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
    SELECT ${messageColumns} FROM message /*sqlite INDEXED BY message_ready */
    WHERE generation = ? AND state = 0 AND sequence > ? ORDER BY sequence ${upTo}`),
  waiting: query<MessageRow>(`
    SELECT ${messageColumns} FROM message /*sqlite INDEXED BY message_due */
    WHERE generation = ? AND state = ? AND state > 0 AND (due_at, sequence) > (?, ?)
    ORDER BY due_at, sequence ${upTo}`),
}

/** Ends what is due first, so that each message is shown in the state it really has. */
export function* peekMessages(tx: Transaction, request: Peek): Steps<Page<PeekedMessage>> {
  const queue = yield* tx.queue(request.queue)
  yield* endAllDue(tx, queue)
  const cursor = parseCursor(request.after)
  const rows =
    request.state === 'ready'
      ? yield* readyRows(tx, queue, cursor, request.limit + 1)
      : yield* tx.all(
          sql.waiting,
          queue.generation,
          stateNames.indexOf(request.state),
          cursor.at,
          cursor.sequence,
          request.limit + 1,
        )
  const page = rows.slice(0, request.limit)
  const items = yield* inTurn(page, (row) => peekedFromRow(row, tx))
  const last = page.at(-1)
  if (rows.length <= request.limit || last === undefined) return { items }
  const at = request.state === 'ready' ? last.sent_at : last.due_at
  return { items, next: `${at}-${last.sequence}` }
}

/** Ready messages and those that wait in buckets, in the one order that they have outside. */
export function* readyRows(
  tx: Transaction,
  { generation }: Queue,
  after: Cursor,
  count: number,
): Steps<readonly MessageRow[]> {
  const values = [generation, blocked, after.at, after.sequence, count] as const
  return [
    ...(yield* tx.all(sql.ready, generation, after.sequence, count)),
    ...(yield* tx.all(sql.waiting, ...values)),
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

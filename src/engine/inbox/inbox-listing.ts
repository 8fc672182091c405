/** The messages of an inbox: pages and counts. */

import type { Page } from '../../backends/backend.ts'
import type {
  CountInboxItems,
  InboxCounts,
  InboxItemRecord,
  ListInboxItems,
} from '../../backends/inbox-store.ts'
import { leased, type MessageRow, messageColumns } from '../messages/message-rows.ts'
import { type Cursor, parseCursor, readyRows } from '../messages/peeking.ts'
import type { Queue } from '../queues/queue.ts'
import { lookUp, oneOf, type Query, query, upTo } from '../statements.ts'
import { inTurn, type Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { inboxOf, recordOf } from './inbox.ts'

const rowsIn = (sequences: string): Query<MessageRow> =>
  query(`
    SELECT ${messageColumns} FROM message WHERE ${oneOf('sequence', `${sequences} ${upTo}`)}
    ORDER BY sequence`)
/** A claim counts as long as its message is leased with its token. */
const live = (where: string): string => `
  FROM inbox_claim c ${lookUp('message m', 'm.sequence = c.sequence')}
  WHERE c.generation = ?${where} AND m.generation = c.generation AND m.token = c.token
    AND m.state = ${leased}`
const first = 'AND c.sequence > ? ORDER BY c.sequence'

const sql = {
  leased: rowsIn(`
    SELECT sequence FROM message /*sqlite INDEXED BY message_due */
    WHERE generation = ? AND state = ${leased} AND state > 0 AND sequence > ?
    ORDER BY sequence`),
  claimed: rowsIn(`SELECT c.sequence ${live('')} ${first}`),
  claimedBy: rowsIn(`SELECT c.sequence ${live(' AND c.by = ?')} ${first}`),
  countClaimed: query<{ count: number }>(`SELECT count(*) AS count ${live('')}`),
  countClaimedBy: query<{ count: number }>(`SELECT count(*) AS count ${live(' AND c.by = ?')}`),
}

export function* listInboxMessages(
  tx: Transaction,
  request: ListInboxItems,
): Steps<Page<InboxItemRecord>> {
  const queue = yield* inboxOf(tx, request.queue)
  const { limit } = request
  const rows = yield* rowsOf(tx, queue, request, parseCursor(request.after), limit + 1)
  const page = rows.slice(0, limit)
  const items = yield* inTurn(page, (row) => recordOf(tx, queue, row))
  const last = page.at(-1)
  return rows.length > limit && last !== undefined
    ? { items, next: `${last.sent_at}-${last.sequence}` }
    : { items }
}

function* rowsOf(
  tx: Transaction,
  queue: Queue,
  { state, by }: ListInboxItems,
  after: Cursor,
  count: number,
): Steps<readonly MessageRow[]> {
  const { generation } = queue
  const { sequence } = after
  if (by !== undefined) {
    return state === 'waiting' ? [] : yield* tx.all(sql.claimedBy, generation, by, sequence, count)
  }
  if (state === 'claimed') {
    return yield* tx.all(sql.claimed, generation, sequence, count)
  }
  const waiting = yield* readyRows(tx, queue, after, count)
  if (state === 'waiting') return waiting
  return [...waiting, ...(yield* tx.all(sql.leased, generation, sequence, count))]
    .sort((left, right) => left.sequence - right.sequence)
    .slice(0, count)
}

export function* countInboxMessages(tx: Transaction, request: CountInboxItems): Steps<InboxCounts> {
  const queue = yield* inboxOf(tx, request.queue)
  const { by } = request
  const claimed = (yield* tx.one(sql.countClaimed, queue.generation))?.count ?? 0
  return {
    waiting: yield* tx.counted(queue, 'ready'),
    claimed,
    mine:
      by === undefined
        ? 0
        : ((yield* tx.one(sql.countClaimedBy, queue.generation, by))?.count ?? 0),
    leased: (yield* tx.counted(queue, 'leased')) - claimed,
  }
}

/** The messages of an inbox: pages and counts. */

import type { Page } from '../../backend.ts'
import type {
  CountInboxItems,
  InboxCounts,
  InboxItemRecord,
  ListInboxItems,
} from '../../inbox-store.ts'
import { type Query, query, upTo } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { leased, type MessageRow, messageColumns } from '../messages/message-rows.ts'
import { type Cursor, parseCursor, readyRows } from '../messages/peeking.ts'
import type { Queue } from '../queues/queue-cache.ts'
import { inboxOf, recordOf } from './inbox.ts'

const rowsIn = (sequences: string): Query<MessageRow> =>
  query(`
    SELECT ${messageColumns} FROM message WHERE sequence IN (${sequences} ${upTo})
    ORDER BY sequence`)
/** A claim counts as long as its message is leased with its token. */
const live = (where: string): string => `
  FROM inbox_claim c JOIN message m ON m.sequence = c.sequence
  WHERE c.generation = ?${where} AND m.generation = c.generation AND m.token = c.token
    AND m.state = ${leased}`
const first = 'AND c.sequence > ? ORDER BY c.sequence'

const sql = {
  leased: rowsIn(`
    SELECT sequence FROM message INDEXED BY message_due
    WHERE generation = ? AND state = ${leased} AND state > 0 AND sequence > ?
    ORDER BY sequence`),
  claimed: rowsIn(`SELECT c.sequence ${live('')} ${first}`),
  claimedBy: rowsIn(`SELECT c.sequence ${live(' AND c.by = ?')} ${first}`),
  countClaimed: query<{ count: number }>(`SELECT count(*) AS count ${live('')}`),
  countClaimedBy: query<{ count: number }>(`SELECT count(*) AS count ${live(' AND c.by = ?')}`),
}

export function listInboxMessages(
  tx: StoreTransaction,
  request: ListInboxItems,
): Page<InboxItemRecord> {
  const queue = inboxOf(tx, request.queue)
  const { limit } = request
  const rows = rowsOf(tx, queue, request, parseCursor(request.after), limit + 1)
  const page = rows.slice(0, limit)
  const items = page.map((row) => recordOf(tx, queue, row))
  const last = page.at(-1)
  return rows.length > limit && last !== undefined
    ? { items, next: `${last.sent_at}-${last.sequence}` }
    : { items }
}

function rowsOf(
  tx: StoreTransaction,
  queue: Queue,
  { state, by }: ListInboxItems,
  after: Cursor,
  count: number,
): readonly MessageRow[] {
  const { generation } = queue
  const { sequence } = after
  if (by !== undefined) {
    return state === 'waiting' ? [] : tx.all(sql.claimedBy, generation, by, sequence, count)
  }
  if (state === 'claimed') {
    return tx.all(sql.claimed, generation, sequence, count)
  }
  const waiting = readyRows(tx, queue, after, count)
  if (state === 'waiting') return waiting
  return [...waiting, ...tx.all(sql.leased, generation, sequence, count)]
    .sort((left, right) => left.sequence - right.sequence)
    .slice(0, count)
}

export function countInboxMessages(tx: StoreTransaction, request: CountInboxItems): InboxCounts {
  const queue = inboxOf(tx, request.queue)
  const { by } = request
  const claimed = tx.one(sql.countClaimed, queue.generation)?.count ?? 0
  return {
    waiting: tx.counted(queue, 'ready'),
    claimed,
    mine: by === undefined ? 0 : (tx.one(sql.countClaimedBy, queue.generation, by)?.count ?? 0),
    leased: tx.counted(queue, 'leased') - claimed,
  }
}

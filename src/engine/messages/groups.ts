/**
 * FIFO groups. A row says where a group's first ready message is and where its first one in flight, so
 * that finding the next group to serve costs the same whatever waits behind a locked one.
 */

import { change, greatest, orReplace, perRow, type Query, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { delayed, leased, ready } from './message-rows.ts'

const first = (state: number): Query<EndRow> =>
  query(`
    SELECT sequence, sent_at FROM message /*sqlite INDEXED BY message_in_group */
    WHERE generation = ? AND group_name = ? AND state = ${state} ORDER BY sequence LIMIT 1`)

const sql = {
  // Messages that are added come after all others of the group.
  gain: change(`
    INSERT INTO fifo_group (generation, name, head, first_leased, returned_at, turn)
    VALUES (?, ?, ?, NULL, 0, ?)
    ON CONFLICT (generation, name) DO UPDATE SET
      turn = CASE
        WHEN fifo_group.head IS NULL AND fifo_group.first_leased IS NULL THEN excluded.turn
        ELSE fifo_group.turn END,
      head = coalesce(fifo_group.head, excluded.head)`),
  firstReady: first(ready),
  firstLeased: first(leased),
  read: query<{ returned_at: number }>(
    'SELECT returned_at FROM fifo_group WHERE generation = ? AND name = ?',
  ),
  write: change(`
    INSERT INTO fifo_group (generation, name, head, first_leased, returned_at, turn)
    VALUES (?, ?, ?, ?, ?, ?)
    ${orReplace('generation, name', 'head, first_leased, returned_at, turn')}`),
  // A group whose messages are all delayed remembers when one of them last returned to ready.
  drop: change(`
    DELETE FROM fifo_group WHERE generation = ? AND name = ?
      AND (${greatest}(returned_at, ?) = 0 OR NOT EXISTS (
        SELECT 1 FROM message /*sqlite INDEXED BY message_in_group */
        WHERE message.generation = fifo_group.generation AND group_name = fifo_group.name
          AND state = ${delayed} ${perRow}
      ))`),
  rest: change(`
    UPDATE fifo_group
    SET head = NULL, first_leased = NULL, turn = NULL, returned_at = ${greatest}(returned_at, ?)
    WHERE generation = ? AND name = ?`),
  firstOpen: query<OpenGroup>(`
    SELECT name, first_leased FROM fifo_group /*sqlite INDEXED BY fifo_group_open */
    WHERE generation = ? AND turn IS NOT NULL ORDER BY turn, head LIMIT 1`),
}

/** A new message of the group became ready. */
export function* groupGained(
  tx: Transaction,
  generation: number,
  group: string,
  sequence: number,
): Steps<void> {
  yield* tx.run(sql.gain, generation, group, sequence, turnOf({ since: tx.now }))
}

interface EndRow {
  readonly sequence: number
  readonly sent_at: number
}

/**
 * Messages of the group were leased, released, moved or removed.
 *
 * @param returnedAt when one of them returned from a lease
 */
export function* groupChanged(
  tx: Transaction,
  generation: number,
  group: string,
  returnedAt = 0,
): Steps<void> {
  const head = yield* tx.one(sql.firstReady, generation, group)
  const inFlight = yield* tx.one(sql.firstLeased, generation, group)
  if (head === undefined && inFlight === undefined) {
    if (!(yield* tx.changed(sql.drop, generation, group, returnedAt)))
      yield* tx.run(sql.rest, returnedAt, generation, group)
    return
  }
  const before = (yield* tx.one(sql.read, generation, group))?.returned_at ?? 0
  const returned = Math.max(before, returnedAt)
  const isOpen = head !== undefined && head.sequence < (inFlight?.sequence ?? Number.MAX_VALUE)
  yield* tx.run(
    sql.write,
    generation,
    group,
    head?.sequence ?? null,
    inFlight?.sequence ?? null,
    returned,
    isOpen ? turnOf({ since: head.sent_at, returnedAt: returned }) : null,
  )
}

/**
 * A group that returned waits behind the groups that waited at that time and were not served. That does
 * not concern messages sent later, so the row of an empty group may be removed late.
 */
function turnOf({ since, returnedAt = 0 }: { since: number; returnedAt?: number }): number {
  return since <= returnedAt ? 2 * returnedAt + 1 : 2 * since
}

export interface OpenGroup {
  readonly name: string
  /** Messages from this one on have to wait. */
  readonly first_leased: number | null
}

/** The group whose turn it is, of those that have something to give. */
export function* firstOpenGroup(tx: Transaction, generation: number): Steps<OpenGroup | undefined> {
  return yield* tx.one(sql.firstOpen, generation)
}

/**
 * FIFO groups. A row says where a group's first ready message is and how many of its messages are in
 * flight, so that finding the next group to serve costs the same whatever waits behind a locked one.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { getRow } from './rows.ts'
import type { StoreTransaction } from './transaction.ts'

export interface GroupStatements {
  readonly gain: StatementSync
  readonly refresh: StatementSync
  readonly dropEmpty: StatementSync
  readonly firstOpen: StatementSync
}

export function prepareGroups(db: DatabaseSync): GroupStatements {
  return {
    gain: db.prepare(`
      INSERT INTO fifo_group (generation, name, head, leased) VALUES (?, ?, ?, 0)
      ON CONFLICT DO UPDATE SET head = min(coalesce(head, excluded.head), excluded.head)`),
    refresh: db.prepare(`
      UPDATE fifo_group SET
        leased = leased + ?,
        head = (
          SELECT sequence FROM message INDEXED BY message_ready_in_group
          WHERE generation = ? AND group_name = ? AND state = 0 ORDER BY sequence LIMIT 1
        )
      WHERE generation = ? AND name = ?`),
    dropEmpty: db.prepare(`
      DELETE FROM fifo_group WHERE generation = ? AND name = ? AND leased = 0 AND head IS NULL`),
    firstOpen: db.prepare(`
      SELECT name FROM fifo_group INDEXED BY fifo_group_open
      WHERE generation = ? AND leased = 0 AND head IS NOT NULL ORDER BY head LIMIT 1`),
  }
}

/** A message of the group became ready. */
export function groupGained(
  tx: StoreTransaction,
  generation: number,
  group: string,
  sequence: number,
): void {
  tx.session.groups.gain.run(generation, group, sequence)
}

/** Messages of the group were leased, handed back, moved or removed. */
export function groupChanged(
  tx: StoreTransaction,
  generation: number,
  group: string,
  leasedChange: number,
): void {
  const { refresh, dropEmpty } = tx.session.groups
  refresh.run(leasedChange, generation, group, generation, group)
  dropEmpty.run(generation, group)
}

/** The group whose head waits longest, among those with nothing in flight. */
export function firstOpenGroup(tx: StoreTransaction, generation: number): string | undefined {
  return getRow<{ name: string }>(tx.session.groups.firstOpen, generation)?.name
}

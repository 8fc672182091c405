/** Cheap questions that tell whether a parked receive is worth another try. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { getRow } from './rows.ts'
import type { Session } from './session.ts'
import type { Queue } from './topology.ts'

export interface WakingStatements {
  readonly anyReady: StatementSync
  readonly anyOpenGroup: StatementSync
  readonly nextDue: StatementSync
  readonly dataVersion: StatementSync
}

export function prepareWaking(db: DatabaseSync): WakingStatements {
  const firstDue = (state: number): string => `(
    SELECT due_at FROM message INDEXED BY message_due
    WHERE generation = ? AND state = ${state} AND state > 0 ORDER BY due_at LIMIT 1)`
  return {
    anyReady: db.prepare(`
      SELECT 1 FROM message INDEXED BY message_ready
      WHERE generation = ? AND state = 0 LIMIT 1`),
    anyOpenGroup: db.prepare(`
      SELECT 1 FROM fifo_group INDEXED BY fifo_group_open
      WHERE generation = ? AND leased = 0 AND head IS NOT NULL LIMIT 1`),
    nextDue: db.prepare(`SELECT ${firstDue(1)} AS lease_ends, ${firstDue(2)} AS delay_ends`),
    dataVersion: db.prepare('PRAGMA data_version'),
  }
}

export function hasSomethingReady(session: Session, queue: Queue): boolean {
  const { anyReady, anyOpenGroup } = session.waking
  const statement = queue.settings.type === 'fifo' ? anyOpenGroup : anyReady
  return statement.get(queue.generation) !== undefined
}

/** When the next lease, delay or retention of a waiting message ends. */
export function nextDueAt(session: Session, queue: Queue): number {
  const row = getRow<{ lease_ends: number | null; delay_ends: number | null }>(
    session.waking.nextDue,
    queue.generation,
    queue.generation,
  )
  const never = Number.POSITIVE_INFINITY
  return Math.min(row?.lease_ends ?? never, row?.delay_ends ?? never)
}

/** Moves on when another connection, in this process or another, has committed. */
export function dataVersion(session: Session): number {
  return getRow<{ data_version: number }>(session.waking.dataVersion)?.data_version ?? 0
}

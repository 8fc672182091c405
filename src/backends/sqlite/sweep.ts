/** Upkeep of the whole store in short slices, so that no other operation waits long behind it. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { limits } from '../../core/limits.ts'
import type { SweepReport } from '../backend.ts'
import { allRows } from './driver/rows.ts'
import type { StoreTransaction } from './driver/transaction.ts'
import { endUnit } from './flows/flow-ends.ts'
import { keepUpFlows } from './flows/flow-maintenance.ts'
import { endGoneClaims } from './inbox/inbox.ts'
import { forgetHandoffEvents, handoffSlice } from './inbox/inbox-events.ts'
import { forgetFinishedJobs } from './jobs/job-forgetting.ts'
import { finishJob } from './jobs/job-history.ts'
import { catchUp, expireBlocked, expireReady, upkeepSlice } from './messages/elapsed-time.ts'
import { advanceMoveTasks } from './messages/move-tasks.ts'
import { liftExpired } from './switches/switches.ts'

/** Rows of discarded generations and of expired memories removed in one slice. */
const discardSlice = 500

export interface SweepStatements {
  readonly busyQueues: StatementSync
  readonly discarded: StatementSync
  readonly discardedReady: StatementSync
  readonly discardedWaiting: StatementSync
  readonly discardGroups: StatementSync
  readonly discardTenants: StatementSync
  readonly discardIds: StatementSync
  readonly discardAttempts: StatementSync
  readonly forgetGeneration: StatementSync
  readonly forgetIds: StatementSync
  readonly forgetAttempts: StatementSync
  readonly forgetDeleted: StatementSync
  readonly forgetKeys: StatementSync
  readonly forgetItems: StatementSync
}

export function prepareSweeping(db: DatabaseSync): SweepStatements {
  const expired = (table: string, key: string): StatementSync =>
    db.prepare(`
      DELETE FROM ${table} WHERE (${key}) IN (
        SELECT ${key} FROM ${table} WHERE expires_at <= ? LIMIT ${discardSlice}
      )`)
  const discarded = (table: string, key: string): StatementSync =>
    db.prepare(`
      DELETE FROM ${table} WHERE (${key}) IN (
        SELECT ${key} FROM ${table} WHERE generation = ? LIMIT ${discardSlice}
      )`)
  return {
    busyQueues: db.prepare(`
      SELECT name FROM queue JOIN queue_count ON queue_count.queue = queue.id
      WHERE ready > 0 OR leased > 0 OR delayed > 0`),
    discarded: db.prepare('SELECT generation, queue FROM discarded_generation LIMIT 1'),
    discardedReady: db.prepare(`
      SELECT sequence, body IS NULL AS apart, job_type IS NOT NULL AS is_job, unit
      FROM message INDEXED BY message_ready
      WHERE generation = ? AND state = 0 LIMIT ${discardSlice}`),
    discardedWaiting: db.prepare(`
      SELECT sequence, body IS NULL AS apart, job_type IS NOT NULL AS is_job, unit
      FROM message INDEXED BY message_due
      WHERE generation = ? AND state > 0 LIMIT ${discardSlice}`),
    discardGroups: discarded('fifo_group', 'generation, name'),
    discardTenants: discarded('tenant', 'generation, name'),
    discardIds: discarded('deduplication', 'generation, scope, id'),
    discardAttempts: discarded('receive_attempt', 'generation, id'),
    forgetGeneration: db.prepare('DELETE FROM discarded_generation WHERE generation = ?'),
    forgetIds: expired('deduplication', 'generation, scope, id'),
    forgetAttempts: expired('receive_attempt', 'generation, id'),
    forgetKeys: expired('idempotency', 'scope, key'),
    forgetItems: expired('collector_memory', 'collector, key, id'),
    forgetDeleted: db.prepare('DELETE FROM deleted_queue WHERE deleted_at <= ?'),
  }
}

/** One slice of everything that is due. */
export function sweepSlice(tx: StoreTransaction): SweepReport {
  const before = tx.expired
  const report = sweepAll(tx)
  const expired = tx.expired - before
  return expired === 0 ? report : { ...report, expired }
}

function sweepAll(tx: StoreTransaction): SweepReport {
  let total = 0
  let more = false
  const add = (count: number, slice: number): void => {
    total += count
    more ||= count >= slice
  }
  for (const { name } of allRows<{ name: string }>(tx.session.sweeping.busyQueues)) {
    const queue = tx.queue(name)
    add(catchUp(tx, queue), upkeepSlice)
    add(expireReady(tx, queue), upkeepSlice)
    add(expireBlocked(tx, queue), upkeepSlice)
    if (more) return { changed: total, more }
  }
  total += liftExpired(tx)
  const flows = keepUpFlows(tx)
  total += flows.changed
  const moves = advanceMoveTasks(tx)
  total += moves.changed
  add(discardGeneration(tx), 1)
  add(forget(tx), discardSlice)
  add(endGoneClaims(tx), handoffSlice)
  add(forgetHandoffEvents(tx), handoffSlice)
  const forgotten = forgetFinishedJobs(tx)
  total += forgotten.changed
  return { changed: total, more: more || flows.more || moves.more || forgotten.more }
}

/** Removes a slice of a purged or deleted generation; zero when there is none. */
function discardGeneration(tx: StoreTransaction): number {
  const { sweeping } = tx.session
  const [found] = allRows<Discarded>(sweeping.discarded)
  if (found === undefined) return 0
  tx.wroteRow()
  for (const rows of [sweeping.discardedReady, sweeping.discardedWaiting]) {
    const count = discardMessages(tx, rows, found)
    if (count > 0) return count
  }
  const { discardGroups, discardTenants, discardIds, discardAttempts } = sweeping
  for (const rows of [discardGroups, discardTenants, discardIds, discardAttempts]) {
    const count = Number(rows.run(found.generation).changes)
    if (count > 0) return count
  }
  sweeping.forgetGeneration.run(found.generation)
  return 1
}

interface Discarded {
  readonly generation: number
  /** The queue's name when it was purged or deleted. */
  readonly queue: string
}

export interface DiscardedRow {
  readonly sequence: number
  readonly apart: 0 | 1
  readonly is_job: 0 | 1
  readonly unit: number | null
}

function discardMessages(
  tx: StoreTransaction,
  next: StatementSync,
  { generation, queue }: Discarded,
): number {
  const rows = allRows<DiscardedRow>(next, generation)
  for (const row of rows) discardMessage(tx, queue, row)
  return rows.length
}

/** Removes a message that went with its generation. */
export function discardMessage(tx: StoreTransaction, queue: string, row: DiscardedRow): void {
  const { sequence, apart, is_job, unit } = row
  if (is_job === 1) finishJob(tx, sequence, { queue, status: 'cancelled' })
  tx.session.upkeep.remove.run(sequence)
  if (apart === 1) tx.session.bodies.dropApart.run(sequence)
  if (unit === null) return
  const reason = 'Its message went when the queue was purged or deleted.'
  endUnit(tx, { unit, state: 'dead', reason, message: sequence })
}

function forget(tx: StoreTransaction): number {
  const { forgetIds, forgetAttempts, forgetKeys, forgetItems, forgetDeleted } = tx.session.sweeping
  const counts = [
    forgetIds.run(tx.now).changes,
    forgetAttempts.run(tx.now).changes,
    forgetKeys.run(tx.now).changes,
    forgetItems.run(tx.now).changes,
    forgetDeleted.run(tx.now - limits.cooldownMs.max).changes,
  ].map(Number)
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total > 0) tx.wroteRow()
  return total
}

/** Sweeps the whole store in short slices, so that no other operation waits long behind it. */

import { limits } from '../../core/limits.ts'
import type { SweepReport } from '../backend.ts'
import type { Statement } from './driver/statements.ts'
import { change, type Query, query } from './driver/statements.ts'
import type { StoreTransaction } from './driver/transaction.ts'
import { endUnit } from './flows/flow-ends.ts'
import { maintainFlows } from './flows/flow-maintenance.ts'
import { endGoneClaims } from './inbox/inbox.ts'
import { forgetInboxEvents, inboxSlice } from './inbox/inbox-events.ts'
import { forgetFinishedJobs } from './jobs/job-forgetting.ts'
import { finishJob } from './jobs/job-history.ts'
import { endDue, expireWaiting, sliceRows } from './messages/elapsed-time.ts'
import { dropLargeBody, removeMessage } from './messages/message-rows.ts'
import { advanceMoveTasks } from './messages/move-tasks.ts'
import { liftExpired } from './switches/switches.ts'

/** Rows of discarded generations and of expired memories removed in one slice. */
const discardSlice = 500

const expired = (table: string, key: string): Statement =>
  change(`
    DELETE FROM ${table} WHERE (${key}) IN (
      SELECT ${key} FROM ${table} WHERE expires_at <= ? LIMIT ${discardSlice}
    )`)
const discarded = (table: string, key: string): Statement =>
  change(`
    DELETE FROM ${table} WHERE (${key}) IN (
      SELECT ${key} FROM ${table} WHERE generation = ? LIMIT ${discardSlice}
    )`)

const isDebounced = `until_ended = 1 AND EXISTS (
  SELECT 1 FROM message WHERE sequence = number AND job_type IS NOT NULL)`

/** How long after its time the key of a debounced job is looked at again, if the job has not ended. */
const keptKeyMs = 3_600_000

const sql = {
  busyQueues: query<{ name: string }>(`
    SELECT name FROM queue JOIN queue_count ON queue_count.queue = queue.id
    WHERE ready > 0 OR leased > 0 OR delayed > 0`),
  discarded: query<Discarded>('SELECT generation, queue FROM discarded_generation LIMIT 1'),
  discardedReady: query<DiscardedRow>(`
    SELECT sequence, body IS NULL AS apart, job_type IS NOT NULL AS is_job, unit
    FROM message INDEXED BY message_ready
    WHERE generation = ? AND state = 0 LIMIT ${discardSlice}`),
  discardedWaiting: query<DiscardedRow>(`
    SELECT sequence, body IS NULL AS apart, job_type IS NOT NULL AS is_job, unit
    FROM message INDEXED BY message_due
    WHERE generation = ? AND state > 0 LIMIT ${discardSlice}`),
  discardGroups: discarded('fifo_group', 'generation, name'),
  discardTenants: discarded('tenant', 'generation, name'),
  discardIds: discarded('deduplication', 'generation, scope, id'),
  discardAttempts: discarded('receive_attempt', 'generation, id'),
  forgetGeneration: change('DELETE FROM discarded_generation WHERE generation = ?'),
  forgetIds: expired('deduplication', 'generation, scope, id'),
  forgetAttempts: expired('receive_attempt', 'generation, id'),
  // A job that is debounced is found by its key until it has ended.
  keepKeys: change(`
    UPDATE idempotency SET expires_at = ? WHERE (scope, key) IN (
      SELECT scope, key FROM idempotency WHERE expires_at <= ? LIMIT ${discardSlice}
    ) AND ${isDebounced}`),
  forgetKeys: change(`
    DELETE FROM idempotency WHERE (scope, key) IN (
      SELECT scope, key FROM idempotency WHERE expires_at <= ? LIMIT ${discardSlice}
    ) AND NOT (${isDebounced})`),
  forgetItems: expired('collector_memory', 'collector, key, id'),
  forgetRates: expired('claim_rate', 'queue, key, at'),
  forgetDeleted: change('DELETE FROM deleted_queue WHERE deleted_at <= ?'),
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
  for (const { name } of tx.all(sql.busyQueues)) {
    const queue = tx.queue(name)
    add(endDue(tx, queue), sliceRows)
    add(expireWaiting(tx, queue), sliceRows)
    if (more) return { changed: total, more }
  }
  total += liftExpired(tx)
  const flows = maintainFlows(tx)
  total += flows.changed
  const moves = advanceMoveTasks(tx)
  total += moves.changed
  add(discardGeneration(tx), 1)
  add(forget(tx), discardSlice)
  add(endGoneClaims(tx), inboxSlice)
  add(forgetInboxEvents(tx), inboxSlice)
  const forgotten = forgetFinishedJobs(tx)
  total += forgotten.changed
  return { changed: total, more: more || flows.more || moves.more || forgotten.more }
}

/** Removes a slice of a purged or deleted generation; zero when there is none. */
function discardGeneration(tx: StoreTransaction): number {
  const [found] = tx.all(sql.discarded)
  if (found === undefined) return 0
  tx.wroteRow()
  for (const rows of [sql.discardedReady, sql.discardedWaiting]) {
    const count = discardMessages(tx, rows, found)
    if (count > 0) return count
  }
  for (const rows of [sql.discardGroups, sql.discardTenants, sql.discardIds, sql.discardAttempts]) {
    const count = tx.changes(rows, found.generation)
    if (count > 0) return count
  }
  tx.run(sql.forgetGeneration, found.generation)
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
  next: Query<DiscardedRow>,
  { generation, queue }: Discarded,
): number {
  const rows = tx.all(next, generation)
  for (const row of rows) discardMessage(tx, queue, row)
  return rows.length
}

/** Removes a message that went with its generation. */
export function discardMessage(tx: StoreTransaction, queue: string, row: DiscardedRow): void {
  const { sequence, apart, is_job, unit } = row
  if (is_job === 1) finishJob(tx, sequence, { queue, status: 'cancelled' })
  tx.run(removeMessage, sequence)
  if (apart === 1) tx.run(dropLargeBody, sequence)
  if (unit === null) return
  const reason = 'Its message went when the queue was purged or deleted.'
  endUnit(tx, { unit, state: 'dead', reason, message: sequence })
}

function forget(tx: StoreTransaction): number {
  if (tx.changes(sql.keepKeys, tx.now + keptKeyMs, tx.now) > 0) tx.wroteRow()
  const counts = [
    tx.changes(sql.forgetIds, tx.now),
    tx.changes(sql.forgetAttempts, tx.now),
    tx.changes(sql.forgetKeys, tx.now),
    tx.changes(sql.forgetItems, tx.now),
    tx.changes(sql.forgetRates, tx.now),
    tx.changes(sql.forgetDeleted, tx.now - limits.cooldownMs.max),
  ].map(Number)
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total > 0) tx.wroteRow()
  return total
}

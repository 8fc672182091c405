/** Sweeps the whole store in short slices, so that no other operation waits long behind it. */

import type { SweepReport } from '../backends/backend.ts'
import { limits } from '../core/limits.ts'
import { endUnit } from './flows/flow-ends.ts'
import { maintainFlows } from './flows/flow-maintenance.ts'
import { endGoneClaims } from './inbox/inbox.ts'
import { forgetInboxEvents, inboxSlice } from './inbox/inbox-events.ts'
import { forgetFinishedJobs } from './jobs/job-forgetting.ts'
import { finishJob } from './jobs/job-history.ts'
import { endDue, expireWaiting, sliceRows } from './messages/elapsed-time.ts'
import { dropLargeBody, removeMessage } from './messages/message-rows.ts'
import { advanceMoveTasks } from './messages/move-tasks.ts'
import type { Statement } from './statements.ts'
import { among, change, perRow, type Query, query } from './statements.ts'
import type { Steps } from './steps.ts'
import { liftExpired } from './switches/switches.ts'
import type { Transaction } from './transaction.ts'

/** Rows of discarded generations and of expired memories removed in one slice. */
const discardSlice = 500

const expired = (table: string, key: string): Statement =>
  change(`
    DELETE FROM ${table}
    WHERE ${among(key, `FROM ${table} WHERE expires_at <= ? LIMIT ${discardSlice}`)}`)
const discarded = (table: string, key: string): Statement =>
  change(`
    DELETE FROM ${table}
    WHERE ${among(key, `FROM ${table} WHERE generation = ? LIMIT ${discardSlice}`)}`)

const isDebounced = `until_ended = 1 AND EXISTS (
  SELECT 1 FROM message WHERE sequence = number AND job_type IS NOT NULL ${perRow})`
const isDueKey = among('scope, key', `FROM idempotency WHERE expires_at <= ? LIMIT ${discardSlice}`)

/** How long after its time the key of a debounced job is looked at again, if the job has not ended. */
const keptKeyMs = 3_600_000

const sql = {
  busyQueues: query<{ name: string }>(`
    SELECT name FROM queue JOIN queue_total ON queue_total.queue = queue.id
    WHERE ready > 0 OR leased > 0 OR delayed > 0`),
  discarded: query<Discarded>('SELECT generation, queue FROM discarded_generation LIMIT 1'),
  discardedReady: query<DiscardedRow>(`
    SELECT sequence, body IS NULL AS apart, job_type IS NOT NULL AS is_job, unit
    FROM message /*sqlite INDEXED BY message_ready */
    WHERE generation = ? AND state = 0 LIMIT ${discardSlice}`),
  discardedWaiting: query<DiscardedRow>(`
    SELECT sequence, body IS NULL AS apart, job_type IS NOT NULL AS is_job, unit
    FROM message /*sqlite INDEXED BY message_due */
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
    UPDATE idempotency SET expires_at = ? WHERE ${isDueKey} AND ${isDebounced}`),
  forgetKeys: change(`
    DELETE FROM idempotency WHERE ${isDueKey} AND NOT (${isDebounced})`),
  forgetItems: expired('collector_memory', 'collector, key, id'),
  forgetDeliveries: expired('carried_delivery', 'queue, id'),
  forgetRates: expired('claim_rate', 'queue, key, at'),
  forgetDeleted: change('DELETE FROM deleted_queue WHERE deleted_at <= ?'),
}

/** One slice of everything that is due. */
export function* sweepSlice(tx: Transaction): Steps<SweepReport> {
  const before = tx.expired
  const report = yield* sweepAll(tx)
  const expired = tx.expired - before
  return expired === 0 ? report : { ...report, expired }
}

function* sweepAll(tx: Transaction): Steps<SweepReport> {
  let total = 0
  let more = false
  const add = (count: number, slice: number): void => {
    total += count
    more ||= count >= slice
  }
  for (const { name } of yield* tx.all(sql.busyQueues)) {
    const queue = yield* tx.queue(name)
    add(yield* endDue(tx, queue), sliceRows)
    add(yield* expireWaiting(tx, queue), sliceRows)
    if (more) return { changed: total, more }
  }
  total += yield* liftExpired(tx)
  const flows = yield* maintainFlows(tx)
  total += flows.changed
  const moves = yield* advanceMoveTasks(tx)
  total += moves.changed
  add(yield* discardGeneration(tx), 1)
  add(yield* forget(tx), discardSlice)
  add(yield* endGoneClaims(tx), inboxSlice)
  add(yield* forgetInboxEvents(tx), inboxSlice)
  const forgotten = yield* forgetFinishedJobs(tx)
  total += forgotten.changed
  return { changed: total, more: more || flows.more || moves.more || forgotten.more }
}

/** Removes a slice of a purged or deleted generation; zero when there is none. */
function* discardGeneration(tx: Transaction): Steps<number> {
  const [found] = yield* tx.all(sql.discarded)
  if (found === undefined) return 0
  tx.wroteRow()
  for (const rows of [sql.discardedReady, sql.discardedWaiting]) {
    const count = yield* discardMessages(tx, rows, found)
    if (count > 0) return count
  }
  for (const rows of [sql.discardGroups, sql.discardTenants, sql.discardIds, sql.discardAttempts]) {
    const count = yield* tx.changes(rows, found.generation)
    if (count > 0) return count
  }
  yield* tx.run(sql.forgetGeneration, found.generation)
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

function* discardMessages(
  tx: Transaction,
  next: Query<DiscardedRow>,
  { generation, queue }: Discarded,
): Steps<number> {
  const rows = yield* tx.all(next, generation)
  for (const row of rows) yield* discardMessage(tx, queue, row)
  return rows.length
}

/** Removes a message that went with its generation. */
export function* discardMessage(tx: Transaction, queue: string, row: DiscardedRow): Steps<void> {
  const { sequence, apart, is_job, unit } = row
  if (is_job === 1) yield* finishJob(tx, sequence, { queue, status: 'cancelled' })
  yield* tx.run(removeMessage, sequence)
  if (apart === 1) yield* tx.run(dropLargeBody, sequence)
  if (unit === null) return
  const reason = 'Its message went when the queue was purged or deleted.'
  yield* endUnit(tx, { unit, state: 'dead', reason, message: sequence })
}

function* forget(tx: Transaction): Steps<number> {
  if ((yield* tx.changes(sql.keepKeys, tx.now + keptKeyMs, tx.now)) > 0) tx.wroteRow()
  const counts = [
    yield* tx.changes(sql.forgetIds, tx.now),
    yield* tx.changes(sql.forgetAttempts, tx.now),
    yield* tx.changes(sql.forgetKeys, tx.now),
    yield* tx.changes(sql.forgetItems, tx.now),
    yield* tx.changes(sql.forgetRates, tx.now),
    yield* tx.changes(sql.forgetDeliveries, tx.now),
    yield* tx.changes(sql.forgetDeleted, tx.now - limits.cooldownMs.max),
  ].map(Number)
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total > 0) tx.wroteRow()
  return total
}

/**
 * Move tasks: dead letters return to their queue, or go to a named one, oldest first and at a rate. The
 * store keeps the progress of a task, and each slice is one transaction that checks it. So any process
 * can continue a task, and a crash neither loses nor doubles a message. A message whose queue does not
 * exist is skipped and counted; the task does not look at it again.
 */

import type {
  CancelMoveTask,
  DeadLetterOrigin,
  ListMoveTasks,
  MoveTask,
  MoveTaskFailure,
  MoveTaskStatus,
  StartMoveTask,
} from '../../backends/backend.ts'
import { checkMoveDestination } from '../../backends/move-destination.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { triggerMoved } from '../collectors/batches.ts'
import { unitHasWorkAgain } from '../flows/flow-ends.ts'
import { decodeDetails } from '../jobs/job-details.ts'
import { finishJob } from '../jobs/job-history.ts'
import type { Queue } from '../queues/queue.ts'
import { byKey, change, perRow, query, skipLocked, upTo } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import { unblock } from './buckets.ts'
import { endAllDue } from './elapsed-time.ts'
import { ownExpiryOf, withOwnExpiry } from './expiry.ts'
import { groupChanged, groupGained } from './groups.ts'
import { renumberLargeBody, unleasedToken } from './message-rows.ts'
import { countByKeysOf } from './moved-limit-keys.ts'

/** Messages read in one transaction. */
const moveSlice = 200

/**
 * A task makes up for at most this much time in which nothing moved its messages. Sweeps come every second;
 * a task that was left for an hour must not move an hour's worth at once.
 */
const madeUpMsMax = 2_000

const sql = {
  hasSource: query<unknown>('SELECT 1 FROM queue WHERE dead_letter = ? LIMIT 1'),
  active: query<unknown>(`
    SELECT id FROM move_task
    WHERE source_queue = ? AND status IN ('running', 'cancelling')`),
  insert: change(`
    INSERT INTO move_task (
      id, source, source_queue, destination, moves_per_second, status, started_at, paced_from, moved,
      to_move, sequence_max
    ) VALUES (?, ?, ?, ?, ?, 'running', ?, ?, 0, ?, ?)`),
  latest: query<TaskRow>('SELECT * FROM move_task WHERE source = ? ORDER BY number DESC LIMIT ?'),
  byId: query<TaskRow>('SELECT * FROM move_task WHERE id = ?'),
  setStatus: change(`
    UPDATE move_task SET status = ?, failure = ? WHERE id = ? AND status = ?`),
  addProgress: change(`
    UPDATE move_task SET
      moved = moved + ?, queue_gone = queue_gone + ?, origin_unknown = origin_unknown + ?, passed = ?,
      paced_from = ?
    WHERE id = ?`),
  running: query<TaskRow>(`
    SELECT * FROM move_task WHERE status IN ('running', 'cancelling') ORDER BY number ${skipLocked}`),
  // A message of a FIFO group that is in flight keeps the later ones of its group back.
  next: query<MovedRow>(`
    SELECT sequence, id, group_name, origin, job, job_type IS NOT NULL AS lives, body IS NULL AS apart,
      unit
    FROM message /*sqlite INDEXED BY message_ready */
    WHERE generation = ? AND state = 0 AND sequence > ? AND sequence <= ? AND NOT EXISTS (
      SELECT 1 FROM fifo_group
      WHERE fifo_group.generation = message.generation AND name = group_name
        AND first_leased < message.sequence ${perRow}
    )
    ORDER BY sequence ${upTo} ${skipLocked}`),
  remaining: query<unknown>(`
    SELECT 1 FROM message /*sqlite INDEXED BY message_ready */
    WHERE generation = ? AND state = 0 AND sequence > ? AND sequence <= ? LIMIT 1`),
  move: change(`
    UPDATE message SET
      sequence = ?, generation = ?, id = NULL, sent_at = ?, receive_count = 0,
      first_received_at = NULL, token = ${unleasedToken}, origin = NULL, delayed_until = NULL,
      expires_at = ?, job_type = ?, job_owner = ?, job = ?, limit_keys = NULL
    WHERE sequence = ? AND generation = ? AND state${byKey} = 0`),
}

interface TaskRow {
  readonly id: string
  readonly source: string
  readonly source_queue: number
  readonly destination: string | null
  readonly moves_per_second: number | null
  readonly status: MoveTaskStatus
  readonly started_at: number
  /** The rate counts from here: from the start, or later if nothing moved messages for a while. */
  readonly paced_from: number
  readonly moved: number
  readonly to_move: number
  readonly sequence_max: number
  readonly queue_gone: number
  readonly origin_unknown: number
  readonly passed: number
  readonly failure: MoveTaskFailure | null
}

export function* insertMoveTask(tx: Transaction, request: StartMoveTask): Steps<MoveTask> {
  const source = yield* tx.queue(request.source)
  if ((yield* tx.one(sql.hasSource, source.name)) === undefined)
    throw new MillraceError('not_a_dead_letter_queue')
  if ((yield* tx.one(sql.active, source.id)) !== undefined)
    throw new MillraceError('move_task_running')
  if (request.destination !== undefined)
    checkMoveDestination(source, yield* tx.queue(request.destination))
  yield* endAllDue(tx, source)
  const id = tx.ids.next()
  yield* tx.run(
    sql.insert,
    id,
    source.name,
    source.id,
    request.destination ?? null,
    request.movesPerSecond ?? null,
    tx.now,
    tx.now,
    yield* tx.counted(source, 'ready'),
    yield* tx.lastSequence(),
  )
  tx.wroteRow()
  return yield* readTask(tx, id)
}

/** Throws `queue_not_found`. */
export function* readMoveTasks(view: View, request: ListMoveTasks): Steps<readonly MoveTask[]> {
  const { source, limit } = request
  yield* view.queue(source)
  return (yield* view.all(sql.latest, source, limit)).map(taskFromRow)
}

export function* markCancelling(tx: Transaction, { id }: CancelMoveTask): Steps<MoveTask> {
  if (!(yield* tx.changed(sql.setStatus, 'cancelling', null, id, 'running'))) {
    throw new MillraceError('move_task_not_found')
  }
  tx.wroteRow()
  return yield* readTask(tx, id)
}

/** Advances all active tasks by one slice; returns how much was done and whether there is more. */
export function* advanceMoveTasks(tx: Transaction): Steps<{ changed: number; more: boolean }> {
  let total = 0
  let more = false
  for (const task of yield* tx.all(sql.running)) {
    const step =
      task.status === 'cancelling'
        ? yield* endTask(tx, task, 'cancelled')
        : yield* advance(tx, task)
    total += step.changed
    more ||= step.more
  }
  return { changed: total, more }
}

interface Step {
  readonly changed: number
  readonly more: boolean
}

function* advance(tx: Transaction, row: TaskRow): Steps<Step> {
  const task = { ...row, paced_from: pacedFrom(tx.now, row) }
  const source = yield* tx.findQueue(task.source)
  if (source?.id !== task.source_queue) return yield* endTask(tx, task, 'failed', 'queue_not_found')
  yield* endAllDue(tx, source)
  const quota = allowedBy(tx.now, task) - task.moved
  if (quota <= 0) return { changed: 0, more: false }
  const { sequence_max } = task
  yield* unblock(tx, source, { lastSequence: sequence_max, count: Math.min(moveSlice, quota) })
  const rows = yield* tx.all(sql.next, source.generation, task.passed, sequence_max, moveSlice)
  const slice = yield* moveRows(tx, { source, task, rows, quota })
  if (slice.end === 'destination_gone') return yield* endTask(tx, task, 'failed', 'queue_not_found')
  const { moved, skipped, passed } = slice
  const changed = moved + skipped.queue_not_found + skipped.origin_unknown
  if (slice.end === 'rate_used') return { changed, more: false }
  if (rows.length === moveSlice) return { changed, more: true }
  if ((yield* tx.one(sql.remaining, source.generation, passed, sequence_max)) !== undefined) {
    return { changed, more: false }
  }
  const failure = firstReason(task, skipped)
  const end = yield* endTask(tx, task, failure === null ? 'completed' : 'failed', failure)
  return { changed: changed + end.changed, more: false }
}

function firstReason(task: TaskRow, skipped: Slice['skipped']): MoveTaskFailure | null {
  if (task.queue_gone + skipped.queue_not_found > 0) return 'queue_not_found'
  return task.origin_unknown + skipped.origin_unknown > 0 ? 'origin_unknown' : null
}

/** How many messages the rate allows in all: one at once, and from then on so many a second. */
function allowedBy(now: number, { moves_per_second, paced_from }: TaskRow): number {
  if (moves_per_second === null) return Number.POSITIVE_INFINITY
  return Math.floor(((now - paced_from) * moves_per_second) / 1_000) + 1
}

/** Where the rate counts from, so that the task makes up for no more than it may. */
function pacedFrom(now: number, { moves_per_second, paced_from, moved }: TaskRow): number {
  if (moves_per_second === null) return paced_from
  const usedMs = Math.ceil((moved * 1_000) / moves_per_second)
  return Math.max(paced_from, now - usedMs - madeUpMsMax)
}

interface MovedRow {
  readonly sequence: number
  /** If it does not follow from the number: the message was moved before. */
  readonly id: string | null
  readonly group_name: string | null
  readonly origin: string | null
  readonly job: string | null
  /** It is a job of the source itself, not a dead letter. */
  readonly lives: 0 | 1
  readonly apart: 0 | 1
  readonly unit: number | null
}

/** The end of a job that waited in the source: it continues in another queue, as another job. */
const movedAway = { status: 'cancelled', error: 'It was moved, and is a new job now.' } as const

interface Slice {
  readonly end: 'rows_used' | 'rate_used' | 'destination_gone'
  readonly moved: number
  readonly skipped: Record<MoveTaskFailure, number>
  readonly passed: number
}

interface Rows {
  readonly source: Queue
  readonly task: TaskRow
  readonly rows: readonly MovedRow[]
  readonly quota: number
}

/** Moves rows in order and skips those without a queue to go to; skipping costs nothing of the rate. */
function* moveRows(tx: Transaction, { source, task, rows, quota }: Rows): Steps<Slice> {
  const skipped = { queue_not_found: 0, origin_unknown: 0 }
  let isDestinationGone = false
  let moved = 0
  let { passed } = task
  for (const row of rows) {
    const target = yield* destinationOf(tx, task, row)
    if (typeof target !== 'string') {
      yield* moveRow(tx, source, target, row)
      moved += 1
    } else if (task.destination === null) {
      skipped[target] += 1
      passed = row.sequence
    } else {
      isDestinationGone = true
    }
    if (isDestinationGone || moved === quota) break
  }
  if (moved > 0) tx.count(source, 'redriven', moved)
  if (moved > 0 || passed > task.passed) {
    const { queue_not_found, origin_unknown } = skipped
    const { paced_from } = task
    yield* tx.run(
      sql.addProgress,
      moved,
      queue_not_found,
      origin_unknown,
      passed,
      paced_from,
      task.id,
    )
    tx.wroteRow()
  }
  const end = moved === quota ? 'rate_used' : 'rows_used'
  return { end: isDestinationGone ? 'destination_gone' : end, moved, skipped, passed }
}

function* moveRow(tx: Transaction, source: Queue, target: Queue, row: MovedRow): Steps<void> {
  const sequence = yield* tx.nextSequence()
  if (row.lives === 1) yield* finishJob(tx, row.sequence, { ...movedAway, queue: source.name })
  const { type, owner, details, expires } = newJobOf(tx, row)
  yield* tx.run(
    sql.move,
    sequence,
    target.generation,
    tx.now,
    type === null
      ? yield* ownExpiryOf(tx, target, { sequence, sentAt: tx.now, keptFrom: tx.now })
      : yield* jobExpiry(tx, target, sequence, expires),
    type,
    owner,
    details,
    row.sequence,
    source.generation,
  )
  if (row.apart === 1) yield* tx.run(renumberLargeBody, sequence, row.sequence)
  yield* countByKeysOf(tx, target, sequence)
  if (row.unit !== null) yield* unitHasWorkAgain(tx, row.unit, sequence)
  yield* triggerMoved(tx, row.sequence, sequence)
  tx.count(source, 'ready', -1)
  tx.count(target, 'ready', 1)
  tx.gainedReady(target)
  if (source.settings.type === 'fifo' && row.group_name !== null) {
    yield* groupChanged(tx, source.generation, row.group_name)
    yield* groupGained(tx, target.generation, row.group_name, sequence)
  }
}

/** The failed job stays as it is; what is sent back is a new job that names it. */
function newJobOf(tx: Transaction, { job, sequence, id }: MovedRow): MovedJob {
  if (job === null) return { type: null, owner: null, details: null, expires: undefined }
  const failed = decodeDetails(job)
  const { type, owner = null, expires } = failed
  const details = JSON.stringify({ ...failed, retryOf: id ?? tx.messageIds.of(sequence) })
  return { type, owner, details, expires }
}

interface MovedJob {
  readonly type: string | null
  readonly owner: string | null
  readonly details: string | null
  readonly expires: number | undefined
}

function* jobExpiry(
  tx: Transaction,
  target: Queue,
  sequence: number,
  expires: number | undefined,
): Steps<number | null> {
  yield* withOwnExpiry(tx, target, sequence)
  return expires === undefined ? null : tx.now + expires
}

/** The queue for a message, or why there is none. */
function* destinationOf(
  tx: Transaction,
  { destination }: TaskRow,
  { origin }: MovedRow,
): Steps<Queue | MoveTaskFailure> {
  const name = destination ?? sourceIn(origin)
  if (name === undefined) return 'origin_unknown'
  return (yield* tx.findQueue(name)) ?? 'queue_not_found'
}

function sourceIn(origin: string | null): string | undefined {
  if (origin === null) return undefined
  const { source }: DeadLetterOrigin = JSON.parse(origin)
  return source
}

function* endTask(
  tx: Transaction,
  task: TaskRow,
  status: MoveTaskStatus,
  failure: TaskRow['failure'] = null,
): Steps<Step> {
  yield* tx.run(sql.setStatus, status, failure, task.id, task.status)
  tx.wroteRow()
  return { changed: 1, more: false }
}

function* readTask(tx: Transaction, id: string): Steps<MoveTask> {
  const row = yield* tx.one(sql.byId, id)
  if (row === undefined) throw new MillraceError('move_task_not_found')
  return taskFromRow(row)
}

function taskFromRow(row: TaskRow): MoveTask {
  return {
    id: row.id,
    source: row.source,
    destination: row.destination,
    movesPerSecond: row.moves_per_second,
    status: row.status,
    startedAt: row.started_at,
    moved: row.moved,
    toMove: row.to_move,
    skipped: { queue_not_found: row.queue_gone, origin_unknown: row.origin_unknown },
    failure: row.failure,
  }
}

/**
 * Move tasks: dead letters go back to where they died, or to a named queue, oldest first and at a
 * rate. A task's progress lies in the store, and each slice is one transaction that checks it, so
 * any process may carry it on and a crash neither loses nor doubles a message.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { MillraceError } from '../../core/millrace-error.ts'
import type {
  DeadLetterOrigin,
  MoveTask,
  MoveTaskFailure,
  MoveTaskStatus,
  StartMoveTask,
} from '../backend.ts'
import { unitHasWorkAgain } from './flow-ends.ts'
import { groupChanged, groupGained } from './groups.ts'
import { decodeDetails } from './job-details.ts'
import { finishJob } from './job-history.ts'
import { unblock } from './lanes.ts'
import { nobodysToken } from './messages.ts'
import { allRows, changed, getRow, upTo } from './rows.ts'
import type { Queue } from './topology.ts'
import type { StoreTransaction } from './transaction.ts'
import { catchUpFully } from './upkeep.ts'

/** Messages moved in one transaction. */
const moveSlice = 200

export interface MoveStatements {
  readonly hasSource: StatementSync
  readonly active: StatementSync
  readonly insert: StatementSync
  readonly latest: StatementSync
  readonly byId: StatementSync
  readonly setStatus: StatementSync
  readonly addMoved: StatementSync
  readonly running: StatementSync
  readonly next: StatementSync
  readonly remaining: StatementSync
  readonly move: StatementSync
}

export function prepareMoving(db: DatabaseSync): MoveStatements {
  return {
    hasSource: db.prepare('SELECT 1 FROM queue WHERE dead_letter = ? LIMIT 1'),
    active: db.prepare(`
      SELECT id FROM move_task
      WHERE source_queue = ? AND status IN ('running', 'cancelling')`),
    insert: db.prepare(`
      INSERT INTO move_task (
        id, source, source_queue, destination, moves_per_second, status, started_at, moved, to_move,
        sequence_max
      ) VALUES (?, ?, ?, ?, ?, 'running', ?, 0, ?, ?)`),
    latest: db.prepare('SELECT * FROM move_task WHERE source = ? ORDER BY number DESC LIMIT ?'),
    byId: db.prepare('SELECT * FROM move_task WHERE id = ?'),
    setStatus: db.prepare(`
      UPDATE move_task SET status = ?, failure = ? WHERE id = ? AND status = ?`),
    addMoved: db.prepare('UPDATE move_task SET moved = moved + ? WHERE id = ?'),
    running: db.prepare(`
      SELECT * FROM move_task WHERE status IN ('running', 'cancelling') ORDER BY number`),
    // A message of a FIFO group that is in flight keeps the later ones of its group back.
    next: db.prepare(`
      SELECT sequence, group_name, origin, job, job_type IS NOT NULL AS lives, body IS NULL AS apart,
        unit
      FROM message INDEXED BY message_ready
      WHERE generation = ? AND state = 0 AND sequence <= ? AND NOT EXISTS (
        SELECT 1 FROM fifo_group
        WHERE fifo_group.generation = message.generation AND name = group_name
          AND first_leased < message.sequence
      )
      ORDER BY sequence ${upTo}`),
    remaining: db.prepare(`
      SELECT 1 FROM message INDEXED BY message_ready
      WHERE generation = ? AND state = 0 AND sequence <= ? LIMIT 1`),
    move: db.prepare(`
      UPDATE message SET
        sequence = ?, generation = ?, id = NULL, sent_at = ?, receive_count = 0,
        first_received_at = NULL, token = ${nobodysToken}, origin = NULL,
        job_type = ?, job_owner = ?, job = ?
      WHERE sequence = ? AND generation = ? AND state = 0`),
  }
}

interface TaskRow {
  readonly id: string
  readonly source: string
  readonly source_queue: number
  readonly destination: string | null
  readonly moves_per_second: number | null
  readonly status: MoveTaskStatus
  readonly started_at: number
  readonly moved: number
  readonly to_move: number
  readonly sequence_max: number
  readonly failure: MoveTaskFailure | null
}

export function startMoveTask(tx: StoreTransaction, request: StartMoveTask): MoveTask {
  const source = tx.queue(request.source)
  const { hasSource, active, insert } = tx.session.moving
  if (getRow(hasSource, source.name) === undefined)
    throw new MillraceError('not_a_dead_letter_queue')
  if (getRow(active, source.id) !== undefined) throw new MillraceError('move_task_running')
  if (request.destination !== undefined) refuseDestination(source, tx.queue(request.destination))
  catchUpFully(tx, source)
  const id = tx.session.ids.next()
  insert.run(
    id,
    source.name,
    source.id,
    request.destination ?? null,
    request.movesPerSecond ?? null,
    tx.now,
    tx.counted(source, 'ready'),
    tx.lastSequence,
  )
  tx.wroteRow()
  return readTask(tx, id)
}

export function listMoveTasks(
  latest: StatementSync,
  source: string,
  limit: number,
): readonly MoveTask[] {
  return allRows<TaskRow>(latest, source, limit).map(taskFromRow)
}

export function cancelMoveTask(tx: StoreTransaction, id: string): MoveTask {
  if (!changed(tx.session.moving.setStatus, 'cancelling', null, id, 'running')) {
    throw new MillraceError('move_task_not_found')
  }
  tx.wroteRow()
  return readTask(tx, id)
}

/** Carries all active tasks on by one slice; the answer tells how much was done and whether to go on. */
export function advanceMoveTasks(tx: StoreTransaction): { changed: number; more: boolean } {
  let total = 0
  let more = false
  for (const task of allRows<TaskRow>(tx.session.moving.running)) {
    const step = task.status === 'cancelling' ? endTask(tx, task, 'cancelled') : advance(tx, task)
    total += step.changed
    more ||= step.more
  }
  return { changed: total, more }
}

interface Step {
  readonly changed: number
  readonly more: boolean
}

function advance(tx: StoreTransaction, task: TaskRow): Step {
  const source = tx.session.topology.find(task.source)
  if (source?.id !== task.source_queue) return endTask(tx, task, 'failed', 'queue_not_found')
  catchUpFully(tx, source)
  const { next, remaining, addMoved } = tx.session.moving
  const quota = Math.min(moveSlice, allowedBy(tx.now, task) - task.moved)
  if (quota > 0) {
    unblock(tx, source, { lastSequence: task.sequence_max, count: quota })
    const rows = allRows<MovedRow>(next, source.generation, task.sequence_max, quota)
    const moved = moveRows(tx, source, task, rows)
    if (moved > 0) {
      addMoved.run(moved, task.id)
      tx.count(source, 'redriven', moved)
    }
    const stuck = rows[moved]
    if (stuck !== undefined) return endTask(tx, task, 'failed', whyStuck(task, stuck))
    if (rows.length === quota) return { changed: moved, more: task.moves_per_second === null }
    if (getRow(remaining, source.generation, task.sequence_max) !== undefined) {
      return { changed: moved, more: false }
    }
    return { changed: moved + endTask(tx, task, 'completed').changed, more: false }
  }
  return { changed: 0, more: false }
}

/** How many messages the rate allows since the start of the task. */
function allowedBy(now: number, { moves_per_second, started_at }: TaskRow): number {
  if (moves_per_second === null) return Number.POSITIVE_INFINITY
  return Math.floor(((now - started_at) * moves_per_second) / 1_000) + 1
}

interface MovedRow {
  readonly sequence: number
  readonly group_name: string | null
  readonly origin: string | null
  readonly job: string | null
  /** It is a job of the source itself, not a dead letter. */
  readonly lives: 0 | 1
  readonly apart: 0 | 1
  readonly unit: number | null
}

/** The end of a job that waited in the source: it goes on elsewhere, as another one. */
const movedAway = { status: 'cancelled', error: 'It was moved, and is a new job now.' } as const

/** Moves rows in order until one has nowhere to go; the answer is how many went. */
function moveRows(
  tx: StoreTransaction,
  source: Queue,
  task: TaskRow,
  rows: readonly MovedRow[],
): number {
  for (const [index, row] of rows.entries()) {
    const target = destinationOf(tx, task, row)
    if (target === undefined) return index
    const sequence = tx.nextSequence()
    if (row.lives === 1) finishJob(tx, row.sequence, { ...movedAway, queue: source.name })
    const { type, owner, details } = newJobOf(tx, row)
    tx.session.moving.move.run(
      sequence,
      target.generation,
      tx.now,
      type,
      owner,
      details,
      row.sequence,
      source.generation,
    )
    if (row.apart === 1) tx.session.bodies.renumberApart.run(sequence, row.sequence)
    if (row.unit !== null) unitHasWorkAgain(tx, row.unit, sequence)
    tx.count(source, 'ready', -1)
    tx.count(target, 'ready', 1)
    tx.gainedReady(target)
    if (source.settings.type === 'fifo' && row.group_name !== null) {
      groupChanged(tx, source.generation, row.group_name)
      groupGained(tx, target.generation, row.group_name, sequence)
    }
  }
  return rows.length
}

function whyStuck({ destination }: TaskRow, { origin }: MovedRow): MoveTaskFailure {
  return destination === null && origin === null ? 'origin_unknown' : 'queue_not_found'
}

/** The failed job stays as it is; what is sent back is a new job that names it. */
function newJobOf(
  tx: StoreTransaction,
  { job, sequence }: MovedRow,
): { type: string | null; owner: string | null; details: string | null } {
  if (job === null) return { type: null, owner: null, details: null }
  const failed = decodeDetails(job)
  const details = { ...failed, retryOf: tx.session.messageIds.of(sequence) }
  return { type: failed.type, owner: failed.owner ?? null, details: JSON.stringify(details) }
}

function destinationOf(tx: StoreTransaction, task: TaskRow, row: MovedRow): Queue | undefined {
  if (task.destination !== null) return tx.session.topology.find(task.destination)
  if (row.origin === null) return undefined
  const origin: DeadLetterOrigin = JSON.parse(row.origin)
  return tx.session.topology.find(origin.source)
}

function endTask(
  tx: StoreTransaction,
  task: TaskRow,
  status: MoveTaskStatus,
  failure: TaskRow['failure'] = null,
): Step {
  tx.session.moving.setStatus.run(status, failure, task.id, task.status)
  tx.wroteRow()
  return { changed: 1, more: false }
}

function refuseDestination(source: Queue, destination: Queue): void {
  if (destination.id !== source.id && destination.settings.type === source.settings.type) return
  throw MillraceError.invalid([
    {
      field: 'destination',
      given: `'${destination.name}', a ${destination.settings.type} queue`,
      allowed: `another ${source.settings.type} queue than the source`,
    },
  ])
}

function readTask(tx: StoreTransaction, id: string): MoveTask {
  const row = getRow<TaskRow>(tx.session.moving.byId, id)
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
    failure: row.failure,
  }
}

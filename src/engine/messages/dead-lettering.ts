/**
 * Moves a message to the dead-letter queue in one step: the row changes its queue, so the message is
 * never in both and never in neither.
 */

import type { DeadLetterOrigin } from '../../backends/backend.ts'
import { triggerDied } from '../collectors/batches.ts'
import { endUnit } from '../flows/flow-ends.ts'
import { messageRenamed } from '../flows/flow-units.ts'
import { finishJob } from '../jobs/job-history.ts'
import type { Queue } from '../queues/queue.ts'
import { byKey, change } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import type { ContentRow } from './content-row.ts'
import { ownExpiryOf } from './expiry.ts'
import { groupGained } from './groups.ts'
import {
  blocked,
  countNameOf,
  dropLargeBody,
  leased,
  ready,
  removeMessage,
  renumberLargeBody,
  unleasedToken,
} from './message-rows.ts'
import { countByKeysOf } from './moved-limit-keys.ts'
import { leaseEnded } from './tenants.ts'

const move = `
  UPDATE message SET
    sequence = ?, generation = ?, id = ?, sent_at = ?, deduplication_id = ?, origin = ?,
    expires_at = ?, state = 0, held_until = NULL, token = ${unleasedToken}, job_type = NULL,
    job_owner = NULL, bucket = NULL, limit_keys = NULL
  WHERE sequence = ? AND generation = ?`

const sql = {
  moveReady: change(`${move} AND (state = 0 OR state = ${blocked})`),
  moveLeased: change(`${move} AND token = ? AND state${byKey} = 1 AND due_at > ?`),
}

/**
 * The dead-letter queue as it is now; it may have been deleted since it was named. A queue that names
 * itself has none: its messages stay and can be received on.
 */
export function* deadLetterQueue(tx: Transaction, queue: Queue): Steps<Queue | undefined> {
  const { deadLetter } = queue.settings
  if (deadLetter === null || deadLetter.queue === queue.name) return undefined
  return yield* tx.findQueue(deadLetter.queue)
}

/**
 * Takes a ready message out of the queue that must not be tried again; false when it has to stay.
 *
 * @param at when that was clear, if it is noticed only now
 */
export function* moveUsedUp(
  tx: Transaction,
  queue: Queue,
  row: ContentRow,
  at: number = tx.now,
): Steps<boolean> {
  const error = 'The lease ended before the attempt was settled.'
  return yield* moveReady(tx, queue, row, { error, reason: null, at })
}

/** Takes a ready message out of the queue that a kill switch stops; false when it has to stay. */
export function* divert(
  tx: Transaction,
  queue: Queue,
  row: ContentRow,
  reason: string,
): Steps<boolean> {
  return yield* moveReady(tx, queue, row, { error: reason, reason, at: tx.now })
}

interface Death {
  readonly reason: string | null
  readonly at: number
}

/** A message stays if there is no dead-letter queue and it is no job. */
function* moveReady(
  tx: Transaction,
  queue: Queue,
  row: ContentRow,
  { error, ...death }: Death & { readonly error: string },
): Steps<boolean> {
  const target = yield* deadLetterQueue(tx, queue)
  if (row.job !== null) {
    yield* finishJob(tx, row.sequence, { queue: queue.name, status: 'failed', error, at: death.at })
  }
  if (target === undefined) {
    if (row.job !== null) yield* removeFinished(tx, queue, { ...row, state: ready }, error)
    return row.job !== null
  }
  const values = yield* movedValues(tx, queue, target, row, death)
  if (!(yield* tx.changed(sql.moveReady, ...values))) return false
  yield* finishMove(tx, { queue, target, row, sequence: values[0], from: 'ready', why: error })
  return true
}

/** Deletes the message of a job whose end was recorded and that has no dead-letter queue. */
export function* removeFinished(
  tx: Transaction,
  queue: Queue,
  row: Pick<ContentRow, 'sequence' | 'group_name' | 'body' | 'unit'> & { readonly state: number },
  why: string,
): Steps<void> {
  const { sequence, unit } = row
  yield* tx.run(removeMessage, sequence)
  if (unit !== null) yield* endUnit(tx, { unit, state: 'dead', reason: why, message: sequence })
  if (row.body === null) yield* tx.run(dropLargeBody, sequence)
  tx.count(queue, countNameOf(row.state), -1)
  if (row.state !== leased) return
  yield* leaseEnded(tx, queue, row.group_name)
  if (queue.settings.type === 'fifo') tx.gainedReady(queue)
}

/** Moves a message out of a live lease; false when the token does not fit any more. */
export function* moveLeasedMessage(
  tx: Transaction,
  queue: Queue,
  target: Queue,
  row: ContentRow,
  burial: { readonly token: number; readonly reason: string },
): Steps<boolean> {
  const values = yield* movedValues(tx, queue, target, row, { reason: burial.reason, at: tx.now })
  if (!(yield* tx.changed(sql.moveLeased, ...values, burial.token, tx.now))) return false
  yield* finishMove(tx, {
    queue,
    target,
    row,
    sequence: values[0],
    from: 'leased',
    why: burial.reason,
  })
  return true
}

/**
 * On standard queues a message keeps its place, and its retention runs on from its sending. On FIFO
 * queues it is a new arrival, and its own id takes the place of the deduplication id. A job may have
 * waited for longer than the dead-letter queue keeps anything, so its retention begins with its failure.
 */
function* movedValues(
  tx: Transaction,
  queue: Queue,
  target: Queue,
  row: ContentRow,
  { reason, at }: Death,
): Steps<MovedValues> {
  const fifo = target.settings.type === 'fifo'
  const id = row.id ?? tx.messageIds.of(row.sequence)
  const origin: DeadLetterOrigin = { source: queue.name, at, reason }
  const sequence = fifo ? yield* tx.nextSequence() : row.sequence
  const sentAt = fifo ? tx.now : row.sent_at
  const keptFrom = fifo ? sentAt : retentionStart(queue, row, at)
  return [
    sequence,
    target.generation,
    fifo ? id : row.id,
    sentAt,
    fifo ? id : row.deduplication_id,
    JSON.stringify(origin),
    yield* ownExpiryOf(tx, target, { sequence, sentAt, keptFrom }),
    row.sequence,
    queue.generation,
  ]
}

type MovedValues = [
  sequence: number,
  generation: number,
  id: string | null,
  sentAt: number,
  deduplicationId: string | null,
  origin: string,
  expiresAt: number | null,
  sequenceBefore: number,
  generationBefore: number,
]

/** When the retention of a dead letter begins. */
function retentionStart(
  { settings }: Queue,
  { job, sent_at, expires_at }: Pick<ContentRow, 'job' | 'sent_at' | 'expires_at'>,
  diedAt: number,
): number {
  if (job !== null) return diedAt
  return expires_at === null ? sent_at : expires_at - settings.retentionMs
}

interface FinishedMove {
  readonly queue: Queue
  readonly target: Queue
  readonly row: ContentRow
  readonly sequence: number
  readonly from: 'ready' | 'leased'
  readonly why: string
}

function* finishMove(
  tx: Transaction,
  { queue, target, row, sequence, from, why }: FinishedMove,
): Steps<void> {
  if (row.body === null && sequence !== row.sequence) {
    yield* tx.run(renumberLargeBody, sequence, row.sequence)
  }
  yield* countByKeysOf(tx, target, sequence)
  tx.count(queue, from, -1)
  tx.count(queue, 'deadLettered', 1)
  tx.count(target, 'ready', 1)
  tx.gainedReady(target)
  // Out of a receive, the group is brought up to date once, with all that the receive leased.
  if (from === 'leased') yield* leaseEnded(tx, queue, row.group_name)
  if (row.group_name !== null && queue.settings.type === 'fifo') {
    yield* groupGained(tx, target.generation, row.group_name, sequence)
  }
  yield* triggerDied(tx, row.sequence)
  if (row.unit === null) return
  yield* messageRenamed(tx, row.unit, { from: row.sequence, to: sequence })
  const letter = { message: sequence, keepsMessage: true }
  yield* endUnit(tx, { unit: row.unit, state: 'dead', reason: why, ...letter })
}

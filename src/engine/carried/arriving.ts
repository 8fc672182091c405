/**
 * Messages that a carrier has delivered. One that the store keeps is claimed by its number, like any other
 * claim: by the fence of its row and the gates of its queue. One that the store has not kept gets a row if
 * the store must decide about it, because it is a job or its queue has ceilings. What may not run waits in the
 * store, and is sent again when it may.
 */

import type {
  DeadLetterOrigin,
  Delivery,
  NewMessage,
  SettleResult,
} from '../../backends/backend.ts'
import type {
  Admission,
  Admitted,
  Arrive,
  Arrived,
  ArrivedSettlement,
  ArrivingMessage,
} from '../../backends/carried-store.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { spendOn } from '../budgets/budgets.ts'
import { refuseJob, storeJob } from '../jobs/enqueueing.ts'
import { carrierBucket, type Kind, kindOf, runningBucket } from '../messages/buckets.ts'
import { deadLetterQueue } from '../messages/dead-lettering.ts'
import { applyElapsedTime, type ElapsedRow } from '../messages/elapsed-time.ts'
import { isRunning } from '../messages/expiry.ts'
import { type Gate, gateOf } from '../messages/gates.ts'
import {
  type Claim,
  countLeased,
  isNewAndLasting,
  leaseOrSetAside,
  newLease,
} from '../messages/leasing.ts'
import {
  blocked,
  delayed,
  deliveryFromRow,
  type MessageRow,
  messageColumns,
  ready,
} from '../messages/message-rows.ts'
import { type PastColumns, refuseInQueue, storeMessage } from '../messages/sending.ts'
import { PartRefused, refuseParts, storeParts } from '../messages/settlement-parts.ts'
import { NoisyTenants } from '../messages/tenants.ts'
import type { Queue } from '../queues/queue.ts'
import { byKey, change, forUpdate, oneOf, query } from '../statements.ts'
import { inTurn, type Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import { isKept } from './carried-figures.ts'
import { noteInGroups } from './outbox.ts'

const texts =
  'SELECT /*sqlite value FROM json_each(?) *//*postgres value FROM json_array_elements_text(?::json) */'

const sql = {
  find: query<CarriedRow>(`
    SELECT ${messageColumns}, limit_keys, body IS NULL AS apart,
      CASE WHEN job_type IS NULL THEN 0 ELSE 1 END AS is_job
    FROM message WHERE ${oneOf('sequence')} ORDER BY sequence ${forUpdate}`),
  leaseNew: change(`
    UPDATE message SET
      state = 1, due_at = ?, token = ?, held_until = NULL, receive_count = 1, leased_at = ?, bucket = ?
    WHERE ${oneOf('sequence')}`),
  makeReady: change(`
    UPDATE message SET state = 0, bucket = NULL, held_until = NULL WHERE sequence = ?`),
  keep: change(`
    UPDATE message SET state = 0, bucket = NULL, due_at = coalesce(held_until, due_at), held_until = NULL
    WHERE ${oneOf('sequence')} AND generation${byKey} = ? AND state${byKey} = ${blocked}
      AND coalesce(bucket, '') = '${carrierBucket}'`),
  records: query<{ id: string; sequence: number | null }>(`
    SELECT id, sequence FROM carried_delivery WHERE queue = ? AND ${oneOf('id', texts)}`),
  remember: change(`
    INSERT INTO carried_delivery (queue, id, sequence, expires_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (queue, id) DO NOTHING`),
}

/** How long a repeated delivery is recognised, beyond the retention of its queue. */
const graceMs = 3_600_000

interface CarriedRow extends MessageRow, Pick<ElapsedRow, 'apart' | 'is_job'> {}

const done: Arrived = { status: 'done' }

export function* arriveMessages(tx: Transaction, request: Arrive): Steps<readonly Arrived[]> {
  const { messages, visibilityMs, heldNames } = request
  const queue = yield* tx.queue(request.queue)
  const gate = yield* gateOf({ view: tx, queue, heldNames })
  // A FIFO queue is held as a whole: a message that waits in the store would lose its place.
  if (gate?.isHeld && queue.settings.type === 'fifo')
    return messages.map(() => ({ status: 'held' }))
  const records = yield* readRecords(tx, queue, messages)
  const places = yield* inTurn(messages, (message) =>
    placeOf(tx, queue, { message, records, gate, isStored: request.mode !== undefined }),
  )
  const numbers = places.filter((place) => typeof place === 'number')
  const rows = yield* readRows(tx, numbers)
  if (request.mode === 'keeps') {
    yield* tx.run(sql.keep, JSON.stringify(numbers), queue.generation)
    return places.map((place) => (typeof place === 'number' ? done : place))
  }
  const claim = claimOf(tx, queue, { max: messages.length, visibilityMs, gate })
  const deliveries = yield* leaseRows(tx, queue, rows, claim)
  yield* noteInGroups(tx, queue, rows)
  if (gate !== undefined) yield* gate.noteClaims(tx, deliveries.size)
  return places.map((place) => {
    if (typeof place !== 'number') return place
    const delivery = deliveries.get(place)
    // A second copy of the same message is done.
    deliveries.delete(place)
    return delivery === undefined ? done : { status: 'leased', delivery }
  })
}

interface Claiming extends Pick<Arrive, 'visibilityMs'> {
  readonly max: number
  readonly gate: Gate | undefined
}

function claimOf(tx: Transaction, queue: Queue, { max, visibilityMs, gate }: Claiming): Claim {
  return {
    max,
    ahead: 0,
    leaseExpiresAt: tx.now + visibilityMs,
    budget: { setAside: Number.POSITIVE_INFINITY },
    gate,
    noisy: new NoisyTenants(tx, queue),
  }
}

function* readRecords(
  tx: Transaction,
  queue: Queue,
  messages: readonly ArrivingMessage[],
): Steps<ReadonlyMap<string, number | null>> {
  const ids = messages.flatMap(({ id, carrierId }) => (id === null ? carrierId : []))
  if (ids.length === 0) return new Map()
  const rows = yield* tx.all(sql.records, queue.id, JSON.stringify(ids))
  return new Map(rows.map(({ id, sequence }) => [id, sequence]))
}

interface Arriving {
  readonly message: ArrivingMessage
  readonly records: ReadonlyMap<string, number | null>
  readonly gate: Gate | undefined
  readonly isStored: boolean
}

/** The number of the message in the store, which stores it if it has to; or what becomes of it otherwise. */
function* placeOf(tx: Transaction, queue: Queue, arriving: Arriving): Steps<number | Arrived> {
  const { message: arrived, records, gate, isStored } = arriving
  const { id, carrierId, message, job } = arrived
  if (id !== null) return tx.messageIds.sequenceOf(id) ?? refused(unknownJob())
  const known = records.get(carrierId)
  if (known !== undefined) return known ?? done
  if (job === null && !isStored && !needsStore(queue, gate, message)) return { status: 'untracked' }
  const refusal =
    job === null ? refuseInQueue(tx, queue, message) : refuseJob(tx, queue, job, message)
  if (refusal !== undefined) return refused(refusal)
  const { sequence } =
    job === null
      ? yield* storeMessage(tx, queue, message, { past: pastOf(arrived) })
      : yield* storeJob(tx, queue, job)
  yield* tx.run(sql.remember, queue.id, carrierId, sequence, recordEnds(tx, queue))
  tx.wroteRow(queue)
  return sequence
}

function pastOf(arrived: ArrivingMessage): PastColumns {
  const { carrierId: id, sentAt, deadLetterOrigin, details } = arrived
  const origin = deadLetterOrigin === undefined ? null : JSON.stringify(deadLetterOrigin)
  return { id, sentAt, origin, details: details ?? null }
}

function unknownJob(): MillraceError {
  const message = 'The message names a job that this store has never had.'
  return new MillraceError('job_not_found', { message })
}

/** Whether a plain message counts under a ceiling, or may not run now. */
function needsStore(queue: Queue, gate: Gate | undefined, { group }: NewMessage): boolean {
  if (gate === undefined) return false
  const kind: Kind = { type: null, tier: null, tenant: group ?? null, keys: null }
  return queue.isLimited || gate.verdict(kind) !== 'open'
}

function recordEnds({ now }: Transaction, { settings }: Queue): number {
  return now + settings.retentionMs + graceMs
}

function refused(error: MillraceError): Arrived {
  return { status: 'refused', error }
}

function* readRows(tx: Transaction, sequences: readonly number[]): Steps<readonly CarriedRow[]> {
  return sequences.length === 0 ? [] : yield* tx.all(sql.find, JSON.stringify(sequences))
}

/** Leases what may run, by the numbers of the messages. */
function* leaseRows(
  tx: Transaction,
  queue: Queue,
  rows: readonly CarriedRow[],
  claim: Claim,
): Steps<Map<number, Delivery>> {
  const inQueue = rows.filter(({ generation }) => generation === queue.generation)
  if (inQueue.every((row) => waits(row) && isNewAndLasting(queue, row, claim))) {
    const together = yield* leaseTogether(tx, queue, inQueue, claim)
    if (together !== undefined) return together
  }
  const deliveries = new Map<number, Delivery>()
  for (const row of inQueue) {
    const delivery = yield* leaseAlone(tx, queue, row, claim)
    if (delivery !== undefined) deliveries.set(row.sequence, delivery)
  }
  return deliveries
}

function waits({ state }: Pick<MessageRow, 'state'>): boolean {
  return state === ready || state === blocked
}

/** One statement for all, if all of them may run; undefined if not. */
function* leaseTogether(
  tx: Transaction,
  queue: Queue,
  rows: readonly CarriedRow[],
  { gate, leaseExpiresAt }: Claim,
): Steps<Map<number, Delivery> | undefined> {
  if (rows.length === 0) return new Map()
  if (gate !== undefined) {
    const kinds = rows.map((row) => kindOf(queue, row))
    for (const kind of kinds) yield* gate.prepare(kind)
    if (!gate.takeAll(kinds)) return undefined
  }
  const token = yield* tx.nextToken()
  const bucket = queue.countsRunning ? runningBucket : null
  const sequences = JSON.stringify(rows.map(({ sequence }) => sequence))
  yield* tx.run(sql.leaseNew, leaseExpiresAt, token, tx.now, bucket, sequences)
  tx.wroteRow(queue)
  yield* countLeased(tx, queue, rows)
  const deliveries = yield* inTurn(rows, function* (row): Steps<[number, Delivery]> {
    const lease = newLease(tx, queue, row, { token, leaseExpiresAt })
    return [row.sequence, yield* deliveryFromRow(row, tx, lease)]
  })
  return new Map(deliveries)
}

/** One that was delivered before, or that may have to wait; undefined if it does not run now. */
function* leaseAlone(
  tx: Transaction,
  queue: Queue,
  found: CarriedRow,
  claim: Claim,
): Steps<Delivery | undefined> {
  const row = yield* asOfNow(tx, queue, found)
  if (row === undefined || !waits(row)) return undefined
  if (row.state === blocked) yield* tx.run(sql.makeReady, row.sequence)
  const claimed = yield* leaseOrSetAside(tx, queue, row, claim)
  return typeof claimed === 'object' ? claimed : undefined
}

/**
 * The row after its lease, or the wait for its retry, has ended. Its carrier has kept it for as long as that
 * was to last, so it does not wait longer in the store.
 */
function* asOfNow(tx: Transaction, queue: Queue, row: CarriedRow): Steps<CarriedRow | undefined> {
  if (waits(row) || (isRunning(row) && row.due_at > tx.now) || row.state === delayed) return row
  yield* applyElapsedTime(tx, queue, { ...row, due_at: Math.min(row.due_at, tx.now) })
  const [now] = yield* readRows(tx, [row.sequence])
  return now?.generation === queue.generation ? now : undefined
}

export function* readAdmission(view: View, { queue: name, heldNames }: Admission): Steps<Admitted> {
  const queue = yield* view.queue(name)
  const gate = yield* gateOf({ view, queue, heldNames })
  const kept = { isKept: yield* isKept(view, queue) }
  if (gate === undefined) return { ...kept, room: Number.POSITIVE_INFINITY }
  // Something is to be asked about each message, even if there is room for all.
  return { ...kept, room: gate.isHeld ? 0 : Math.min(gate.room, Number.MAX_SAFE_INTEGER) }
}

/** The settlement is an operation by itself: if a part is refused, the delivery is not recorded. */
export function* settleArrived(
  tx: Transaction,
  name: string,
  { carrierId, settlement, message, sentAt }: ArrivedSettlement,
): Steps<SettleResult> {
  const queue = yield* tx.queue(name)
  const isFirst = yield* tx.changed(sql.remember, queue.id, carrierId, null, recordEnds(tx, queue))
  if (!isFirst) return { status: 'gone' }
  tx.wroteRow(queue)
  const refusal = yield* refuseParts(tx, settlement)
  if (refusal !== undefined) throw new PartRefused(refusal)
  const receipt = { queueId: queue.id, sequence: 0, token: 0 }
  const { spent, outcome } = settlement
  if (outcome.kind === 'deadLetter')
    yield* storeDeadLetter(tx, queue, { carrierId, message, sentAt, reason: outcome.reason })
  if (spent) yield* spendOn(tx, spent, undefined)
  return { status: 'settled', ...(yield* storeParts(tx, settlement, { receipt, unit: null })) }
}

interface Died extends Pick<ArrivedSettlement, 'carrierId'> {
  readonly message: NewMessage | undefined
  readonly sentAt: number | undefined
  readonly reason: string
}

function* storeDeadLetter(
  tx: Transaction,
  queue: Queue,
  { carrierId, message, sentAt = tx.now, reason }: Died,
): Steps<void> {
  const target = yield* deadLetterQueue(tx, queue)
  if (target === undefined || message === undefined) {
    throw new PartRefused(new MillraceError('dead_letter_missing'))
  }
  const origin: DeadLetterOrigin = { source: queue.name, at: tx.now, reason: reason || null }
  const past = { id: carrierId, sentAt, origin: JSON.stringify(origin), details: null }
  const isFifo = target.settings.type === 'fifo'
  const moved = isFifo ? { ...message, deduplicationId: carrierId } : message
  yield* storeMessage(tx, target, moved, { past })
  tx.count(queue, 'deadLettered', 1)
  tx.count(queue, 'failedAttempts', 1)
}

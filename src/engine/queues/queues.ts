/** Creates, changes, tags, purges and deletes queues. */

import type {
  ChangeQueue,
  CreatedQueue,
  CreateQueue,
  ListDeadLetterSources,
  ListQueues,
  Page,
  PurgeQueue,
  QueueName,
  QueueRecord,
  QueueSettings,
  TagQueue,
} from '../../backends/backend.ts'
import { isFifoName, namespaceEnd } from '../../core/check-queue.ts'
import { describeGiven } from '../../core/checks.ts'
import { describeRange, limits } from '../../core/limits.ts'
import { MillraceError, type Violation } from '../../core/millrace-error.ts'
import { defaultQueueSettings } from '../../core/queue-settings.ts'
import { runningBucket } from '../messages/buckets.ts'
import { endAllDue, endDueForRead } from '../messages/elapsed-time.ts'
import { blocked, unleasedToken } from '../messages/message-rows.ts'
import { change, greatest, least, orReplace, query, upTo } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import { type Queue, queueFromRow, queueRecord } from './queue.ts'

/** The end of the retention of a plain message; its parameter is the length. */
const retentionEnds = 'coalesce(expires_at, sent_at + ?)'

const sql = {
  markRunning: change(`
    UPDATE message SET bucket = '${runningBucket}'
    WHERE generation = ? AND state = 1 AND state > 0 AND token <> ?`),
  // The retention of these ends by their own time.
  moveExpiry: change(`
    UPDATE message /*sqlite INDEXED BY message_own_expiry */ SET expires_at = expires_at + ?
    WHERE generation = ? AND expires_at IS NOT NULL AND job_type IS NULL`),
  // A lease that outlasts the old retention stays as long as promised.
  prolongHeld: change(`
    UPDATE message SET
      due_at = ${least}(held_until, ${retentionEnds}),
      held_until = nullif(${greatest}(held_until, ${retentionEnds}), ${retentionEnds})
    WHERE generation = ? AND state > 0 AND state < ${blocked} AND held_until IS NOT NULL
      AND job_type IS NULL`),
  shortenDue: change(`
    UPDATE message SET held_until = coalesce(held_until, due_at), due_at = ${retentionEnds}
    WHERE generation = ? AND state > 0 AND state < ${blocked} AND due_at > ${retentionEnds}
      AND job_type IS NULL`),
  insert: query<{ id: number }>(`
    INSERT INTO queue (name, generation, settings, tags, dead_letter, created_at, changed_at)
    VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`),
  insertCounts: change('INSERT INTO queue_count (queue) VALUES (?)'),
  update: change(`
    UPDATE queue SET settings = ?, tags = ?, dead_letter = ?, changed_at = ? WHERE id = ?`),
  newGeneration: change('UPDATE queue SET generation = ?, purged_at = ? WHERE id = ?'),
  remove: change('DELETE FROM queue WHERE id = ?'),
  removeCounts: change('DELETE FROM queue_count WHERE queue = ?'),
  removeRate: change('DELETE FROM claim_rate WHERE queue = ?'),
  discard: change('INSERT INTO discarded_generation (generation, queue) VALUES (?, ?)'),
  insertTombstone: change(`INSERT INTO deleted_queue (name, deleted_at) VALUES (?, ?)
    ${orReplace('name', 'deleted_at')}`),
  deletedAt: query<{ deleted_at: number }>('SELECT deleted_at FROM deleted_queue WHERE name = ?'),
  removeTombstone: change('DELETE FROM deleted_queue WHERE name = ?'),
  list: query<Readonly<Record<string, unknown>>>(`
    SELECT * FROM queue
    WHERE name > ? AND substr(name, 1, length(?)) = ?
      AND (? = '' OR /*sqlite instr *//*postgres strpos */(name, '${namespaceEnd}') = 0) ORDER BY name ${upTo}`),
  listSources: query<Readonly<Record<string, unknown>>>(`
    SELECT * FROM queue WHERE dead_letter = ? AND name > ? ORDER BY name ${upTo}`),
}

export function* insertQueue(tx: Transaction, request: CreateQueue): Steps<CreatedQueue> {
  yield* tx.lock(`queue:${request.queue}`)
  const { queue: name, settings: given = {}, tags = {}, cooldownMs = 0 } = request
  const existing = yield* tx.findQueue(name)
  if (existing !== undefined) {
    refuseDifferent(existing, given)
    return { queue: queueRecord(existing), created: false }
  }
  const type = given.type ?? (isFifoName(name) ? 'fifo' : 'standard')
  const settings: QueueSettings = { ...defaultQueueSettings, ...given, type }
  yield* refuseSettings(tx, name, settings, given)
  const tomb = yield* tx.one(sql.deletedAt, name)
  if (tomb !== undefined && tx.now - tomb.deleted_at < cooldownMs) {
    throw new MillraceError('queue_deleted_recently')
  }
  const { id } = (yield* tx.one(
    sql.insert,
    name,
    yield* tx.nextGeneration(),
    JSON.stringify(settings),
    JSON.stringify(tags),
    settings.deadLetter?.queue ?? null,
    tx.now,
    tx.now,
  )) ?? { id: 0 }
  yield* tx.run(sql.insertCounts, id)
  if (tomb !== undefined) yield* tx.run(sql.removeTombstone, name)
  yield* tx.queuesChanged()
  return { queue: queueRecord(yield* tx.queue(name)), created: true }
}

export function* updateSettings(tx: Transaction, request: ChangeQueue): Steps<QueueRecord> {
  yield* tx.lock(`queue:${request.queue}`)
  const queue = yield* tx.queue(request.queue)
  const settings: QueueSettings = { ...queue.settings, ...request.changes }
  yield* refuseSettings(tx, queue.name, settings, request.changes)
  if (settings.retentionMs > queue.settings.retentionMs) {
    // Expired messages stay expired, even if retention is longer now.
    yield* endAllDue(tx, queue)
    const { retentionMs } = settings
    yield* moveExpiry(tx, queue, retentionMs)
    yield* tx.run(sql.prolongHeld, retentionMs, retentionMs, retentionMs, queue.generation)
  }
  const isShorter = settings.retentionMs < queue.settings.retentionMs
  // A message that had returned from a lease stays ready.
  if (isShorter) yield* endDueForRead(tx, queue)
  yield* save(tx, queue, settings, queue.tags)
  const saved = yield* tx.queue(queue.name)
  // A ceiling counts what was taken before it was there.
  if (saved.countsRunning && !queue.countsRunning) {
    yield* tx.run(sql.markRunning, queue.generation, unleasedToken)
  }
  if (isShorter) {
    // Leased and delayed messages may now expire before their next check.
    yield* moveExpiry(tx, queue, settings.retentionMs)
    yield* tx.run(sql.shortenDue, settings.retentionMs, queue.generation, settings.retentionMs)
    yield* endDueForRead(tx, saved)
  }
  return queueRecord(saved)
}

function* moveExpiry(tx: Transaction, queue: Queue, retentionMs: number): Steps<void> {
  yield* tx.run(sql.moveExpiry, retentionMs - queue.settings.retentionMs, queue.generation)
}

export function* updateTags(tx: Transaction, request: TagQueue): Steps<QueueRecord> {
  yield* tx.lock(`queue:${request.queue}`)
  const queue = yield* tx.queue(request.queue)
  const removed = new Set(request.remove ?? [])
  const tags = Object.fromEntries(
    [...Object.entries(queue.tags), ...Object.entries(request.set ?? {})].filter(
      ([key]) => !removed.has(key),
    ),
  )
  const count = Object.keys(tags).length
  if (count > limits.tagsPerQueue.max) {
    const allowed = describeRange(limits.tagsPerQueue)
    throw MillraceError.invalid([{ field: 'tags', given: `${count} tags`, allowed }])
  }
  yield* save(tx, queue, queue.settings, tags)
  return queueRecord(yield* tx.queue(queue.name))
}

export function* removeQueue(tx: Transaction, { queue: name }: QueueName): Steps<void> {
  yield* tx.lock(`queue:${name}`)
  const queue = yield* tx.queue(name)
  // What has ended before has had its own end, and may lie among the dead letters.
  yield* endDueForRead(tx, queue)
  yield* tx.run(sql.remove, queue.id)
  yield* tx.run(sql.removeCounts, queue.id)
  yield* tx.run(sql.removeRate, queue.id)
  yield* tx.run(sql.discard, queue.generation, queue.name)
  yield* tx.run(sql.insertTombstone, name, tx.now)
  yield* tx.queuesChanged()
}

export function* discardMessages(tx: Transaction, request: PurgeQueue): Steps<void> {
  yield* tx.lock(`queue:${request.queue}`)
  const queue = yield* tx.queue(request.queue)
  const { purgedAt } = queue
  if (purgedAt !== null && tx.now - purgedAt < (request.cooldownMs ?? 0)) {
    throw new MillraceError('purge_in_progress')
  }
  yield* endAllDue(tx, queue)
  yield* tx.run(sql.newGeneration, yield* tx.nextGeneration(), tx.now, queue.id)
  yield* tx.run(sql.discard, queue.generation, queue.name)
  // First: from then on no other transaction counts for the old generation.
  yield* tx.queuesChanged()
  for (const state of ['ready', 'leased', 'delayed'] as const) {
    tx.count(queue, state, -(yield* tx.counted(queue, state)))
  }
}

export function* readQueue(view: View, { queue }: QueueName): Steps<QueueRecord> {
  return queueRecord(yield* view.queue(queue))
}

export function* readQueuePage(view: View, request: ListQueues): Steps<Page<QueueRecord>> {
  const { prefix = '', namespace, after = '', limit } = request
  const start = (namespace ?? '') + prefix
  const outside = namespace === '' ? 'outside' : ''
  return queuePage(yield* view.all(sql.list, after, start, start, outside, limit + 1), limit)
}

export function* readSourcePage(
  view: View,
  { queue, after = '', limit }: ListDeadLetterSources,
): Steps<Page<QueueRecord>> {
  yield* view.queue(queue)
  return queuePage(yield* view.all(sql.listSources, queue, after, limit + 1), limit)
}

/** A page of queues from rows of which there is one more than the page holds, if there are more. */
function queuePage(
  rows: readonly Readonly<Record<string, unknown>>[],
  limit: number,
): Page<QueueRecord> {
  const items = rows.slice(0, limit).map((row) => queueRecord(queueFromRow(row)))
  const last = items.at(-1)
  return rows.length > limit && last !== undefined ? { items, next: last.name } : { items }
}

function* save(
  tx: Transaction,
  queue: Queue,
  settings: QueueSettings,
  tags: Readonly<Record<string, string>>,
): Steps<void> {
  yield* tx.run(
    sql.update,
    JSON.stringify(settings),
    JSON.stringify(tags),
    settings.deadLetter?.queue ?? null,
    tx.now,
    queue.id,
  )
  yield* tx.queuesChanged()
}

function refuseDifferent(queue: Queue, given: Partial<QueueSettings>): void {
  const settings: Readonly<Record<string, unknown>> = { ...queue.settings }
  const violations = Object.entries(given)
    .filter(([key, value]) => value !== undefined && !isSame(settings[key], value))
    .map(([key, value]) => ({
      field: key,
      given: describeGiven(value),
      allowed: `what the existing queue has: ${describeGiven(settings[key])}`,
    }))
  if (violations.length > 0) throw MillraceError.invalid(violations, 'queue_exists')
}

function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(left, sorted) === JSON.stringify(right, sorted)
}

/** Makes the order of an object's keys irrelevant. */
function sorted(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Rules between settings, and between queues. */
function* refuseSettings(
  tx: Transaction,
  name: string,
  settings: QueueSettings,
  given: Partial<QueueSettings>,
): Steps<void> {
  const violations: Violation[] = []
  if (isFifoName(name) !== (settings.type === 'fifo')) {
    violations.push({
      field: 'queue',
      given: describeGiven(name),
      allowed: "a name that ends in '.fifo' for a FIFO queue, and only then",
    })
  }
  if (settings.type === 'standard') {
    for (const field of ['deduplicateByContent', 'deduplicationScope'] as const) {
      if (given[field] === undefined || given[field] === defaultQueueSettings[field]) continue
      violations.push({ field, given: String(given[field]), allowed: 'none on a standard queue' })
    }
  }
  if (settings.type === 'fifo') violations.push(...refuseOnFifo(settings))
  if (given.deadLetter) violations.push(...(yield* refuseDeadLetter(tx, name, settings)))
  if (violations.length > 0) throw MillraceError.invalid(violations)
}

/** To pass over a message would break the order of its group, so a FIFO queue is stopped as a whole. */
function refuseOnFifo({ ceilings, obeys }: QueueSettings): Violation[] {
  const isUsed: Readonly<Record<string, boolean>> = {
    'ceilings.runningPerTenant': ceilings.runningPerTenant !== null,
    'ceilings.runningPerType': Object.keys(ceilings.runningPerType).length > 0,
    'ceilings.perKey': ceilings.perKey.length > 0,
    'obeys.types': Object.keys(obeys.types).length > 0,
  }
  return Object.keys(isUsed)
    .filter((field) => isUsed[field])
    .map((field) => ({ field, given: 'some', allowed: 'none on a FIFO queue' }))
}

function* refuseDeadLetter(
  tx: Transaction,
  name: string,
  settings: QueueSettings,
): Steps<Violation[]> {
  const { deadLetter, type } = settings
  if (deadLetter === null) return []
  const refusal = (allowed: string): Violation[] => [
    { field: 'deadLetter.queue', given: describeGiven(deadLetter.queue), allowed },
  ]
  const target = yield* tx.findQueue(deadLetter.queue)
  if (target === undefined) return refusal('a queue that exists')
  if (target.settings.type !== type) return refusal(`a ${type} queue, as this one is`)
  const { deadLetterSources } = target.settings
  const isAllowed =
    deadLetterSources === 'all' ||
    (deadLetterSources !== 'none' && deadLetterSources.includes(name))
  if (!isAllowed) return refusal('a queue that takes dead letters from this one')
  // SQS allows a queue to be its own target: see `deadLetterQueue`.
  return target.name !== name && (yield* leadsBack(tx, name, target))
    ? refusal('a queue whose own dead letters do not return here')
    : []
}

function* leadsBack(tx: Transaction, name: string, target: Queue): Steps<boolean> {
  const seen = new Set<string>()
  let next: Queue | undefined = target
  while (next?.settings.deadLetter && !seen.has(next.name)) {
    seen.add(next.name)
    if (next.settings.deadLetter.queue === name) return true
    next = yield* tx.findQueue(next.settings.deadLetter.queue)
  }
  return false
}

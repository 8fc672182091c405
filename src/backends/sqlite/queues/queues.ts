/** Creates, changes, tags, purges and deletes queues. */

import { isFifoName, namespaceEnd } from '../../../core/check-queue.ts'
import { describeGiven } from '../../../core/checks.ts'
import { describeRange, limits } from '../../../core/limits.ts'
import { MillraceError, type Violation } from '../../../core/millrace-error.ts'
import { defaultQueueSettings } from '../../../core/queue-settings.ts'
import type {
  ChangeQueue,
  CreatedQueue,
  CreateQueue,
  ListDeadLetterSources,
  ListQueues,
  Page,
  PurgeQueue,
  QueueRecord,
  QueueSettings,
  TagQueue,
} from '../../backend.ts'
import { change, query, upTo } from '../driver/statements.ts'
import type { StoreTransaction, StoreView } from '../driver/transaction.ts'
import { runningBucket } from '../messages/buckets.ts'
import { endAllDue, endDueForRead } from '../messages/elapsed-time.ts'
import { blocked, unleasedToken } from '../messages/message-rows.ts'
import { type Queue, queueFromRow, queueRecord } from './queue-cache.ts'

/** The end of the retention of a plain message; its parameter is the length. */
const retentionEnds = 'coalesce(expires_at, sent_at + ?)'

const sql = {
  markRunning: change(`
    UPDATE message SET bucket = '${runningBucket}'
    WHERE generation = ? AND state = 1 AND state > 0 AND token <> ?`),
  // The retention of these ends by their own time.
  moveExpiry: change(`
    UPDATE message INDEXED BY message_own_expiry SET expires_at = expires_at + ?
    WHERE generation = ? AND expires_at IS NOT NULL AND job_type IS NULL`),
  // A lease that outlasts the old retention stays as long as promised.
  prolongHeld: change(`
    UPDATE message SET
      due_at = min(held_until, ${retentionEnds}),
      held_until = nullif(max(held_until, ${retentionEnds}), ${retentionEnds})
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
  insertTombstone: change('INSERT OR REPLACE INTO deleted_queue (name, deleted_at) VALUES (?, ?)'),
  deletedAt: query<{ deleted_at: number }>('SELECT deleted_at FROM deleted_queue WHERE name = ?'),
  removeTombstone: change('DELETE FROM deleted_queue WHERE name = ?'),
  list: query<Readonly<Record<string, unknown>>>(`
    SELECT * FROM queue
    WHERE name > ? AND substr(name, 1, length(?)) = ?
      AND (? = '' OR instr(name, '${namespaceEnd}') = 0) ORDER BY name ${upTo}`),
  listSources: query<Readonly<Record<string, unknown>>>(`
    SELECT * FROM queue WHERE dead_letter = ? AND name > ? ORDER BY name ${upTo}`),
}

export function insertQueue(tx: StoreTransaction, request: CreateQueue): CreatedQueue {
  const { queue: name, settings: given = {}, tags = {}, cooldownMs = 0 } = request
  const existing = tx.findQueue(name)
  if (existing !== undefined) {
    refuseDifferent(existing, given)
    return { queue: queueRecord(existing), created: false }
  }
  const type = given.type ?? (isFifoName(name) ? 'fifo' : 'standard')
  const settings: QueueSettings = { ...defaultQueueSettings, ...given, type }
  refuseSettings(tx, name, settings, given)
  const tomb = tx.one(sql.deletedAt, name)
  if (tomb !== undefined && tx.now - tomb.deleted_at < cooldownMs) {
    throw new MillraceError('queue_deleted_recently')
  }
  const { id } = tx.one(
    sql.insert,
    name,
    tx.nextGeneration(),
    JSON.stringify(settings),
    JSON.stringify(tags),
    settings.deadLetter?.queue ?? null,
    tx.now,
    tx.now,
  ) ?? { id: 0 }
  tx.run(sql.insertCounts, id)
  if (tomb !== undefined) tx.run(sql.removeTombstone, name)
  tx.queuesChanged()
  return { queue: queueRecord(tx.queue(name)), created: true }
}

export function updateSettings(tx: StoreTransaction, request: ChangeQueue): QueueRecord {
  const queue = tx.queue(request.queue)
  const settings: QueueSettings = { ...queue.settings, ...request.changes }
  refuseSettings(tx, queue.name, settings, request.changes)
  if (settings.retentionMs > queue.settings.retentionMs) {
    // Expired messages stay expired, even if retention is longer now.
    endAllDue(tx, queue)
    const { retentionMs } = settings
    moveExpiry(tx, queue, retentionMs)
    tx.run(sql.prolongHeld, retentionMs, retentionMs, retentionMs, queue.generation)
  }
  const isShorter = settings.retentionMs < queue.settings.retentionMs
  // A message that had returned from a lease stays ready.
  if (isShorter) endDueForRead(tx, queue)
  save(tx, queue, settings, queue.tags)
  const saved = tx.queue(queue.name)
  // A ceiling counts what was taken before it was there.
  if (saved.countsRunning && !queue.countsRunning) {
    tx.run(sql.markRunning, queue.generation, unleasedToken)
  }
  if (isShorter) {
    // Leased and delayed messages may now expire before their next check.
    moveExpiry(tx, queue, settings.retentionMs)
    tx.run(sql.shortenDue, settings.retentionMs, queue.generation, settings.retentionMs)
    endDueForRead(tx, saved)
  }
  return queueRecord(saved)
}

function moveExpiry(tx: StoreTransaction, queue: Queue, retentionMs: number): void {
  tx.run(sql.moveExpiry, retentionMs - queue.settings.retentionMs, queue.generation)
}

export function updateTags(tx: StoreTransaction, request: TagQueue): QueueRecord {
  const queue = tx.queue(request.queue)
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
  save(tx, queue, queue.settings, tags)
  return queueRecord(tx.queue(queue.name))
}

export function removeQueue(tx: StoreTransaction, name: string): void {
  const queue = tx.queue(name)
  // What has ended before has had its own end, and may lie among the dead letters.
  endDueForRead(tx, queue)
  tx.run(sql.remove, queue.id)
  tx.run(sql.removeCounts, queue.id)
  tx.run(sql.removeRate, queue.id)
  tx.run(sql.discard, queue.generation, queue.name)
  tx.run(sql.insertTombstone, name, tx.now)
  tx.queuesChanged()
}

export function discardMessages(tx: StoreTransaction, request: PurgeQueue): void {
  const queue = tx.queue(request.queue)
  const { purgedAt } = queue
  if (purgedAt !== null && tx.now - purgedAt < (request.cooldownMs ?? 0)) {
    throw new MillraceError('purge_in_progress')
  }
  endAllDue(tx, queue)
  tx.run(sql.newGeneration, tx.nextGeneration(), tx.now, queue.id)
  tx.run(sql.discard, queue.generation, queue.name)
  for (const state of ['ready', 'leased', 'delayed'] as const) {
    tx.count(queue, state, -tx.counted(queue, state))
  }
  tx.queuesChanged()
}

export function readQueuePage(view: StoreView, request: ListQueues): Page<QueueRecord> {
  const { prefix = '', namespace, after = '', limit } = request
  const start = (namespace ?? '') + prefix
  const outside = namespace === '' ? 'outside' : ''
  return queuePage(view.all(sql.list, after, start, start, outside, limit + 1), limit)
}

export function readSourcePage(
  view: StoreView,
  { queue, after = '', limit }: ListDeadLetterSources,
): Page<QueueRecord> {
  view.queue(queue)
  return queuePage(view.all(sql.listSources, queue, after, limit + 1), limit)
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

function save(
  tx: StoreTransaction,
  queue: Queue,
  settings: QueueSettings,
  tags: Readonly<Record<string, string>>,
): void {
  tx.run(
    sql.update,
    JSON.stringify(settings),
    JSON.stringify(tags),
    settings.deadLetter?.queue ?? null,
    tx.now,
    queue.id,
  )
  tx.queuesChanged()
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
function refuseSettings(
  tx: StoreTransaction,
  name: string,
  settings: QueueSettings,
  given: Partial<QueueSettings>,
): void {
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
  if (given.deadLetter) violations.push(...refuseDeadLetter(tx, name, settings))
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

function refuseDeadLetter(
  tx: StoreTransaction,
  name: string,
  settings: QueueSettings,
): Violation[] {
  const { deadLetter, type } = settings
  if (deadLetter === null) return []
  const refusal = (allowed: string): Violation[] => [
    { field: 'deadLetter.queue', given: describeGiven(deadLetter.queue), allowed },
  ]
  const target = tx.findQueue(deadLetter.queue)
  if (target === undefined) return refusal('a queue that exists')
  if (target.settings.type !== type) return refusal(`a ${type} queue, as this one is`)
  const { deadLetterSources } = target.settings
  const isAllowed =
    deadLetterSources === 'all' ||
    (deadLetterSources !== 'none' && deadLetterSources.includes(name))
  if (!isAllowed) return refusal('a queue that takes dead letters from this one')
  // SQS allows a queue to be its own target: see `deadLetterQueue`.
  return target.name !== name && leadsBack(tx, name, target)
    ? refusal('a queue whose own dead letters do not return here')
    : []
}

function leadsBack(tx: StoreTransaction, name: string, target: Queue): boolean {
  const seen = new Set<string>()
  let next: Queue | undefined = target
  while (next?.settings.deadLetter && !seen.has(next.name)) {
    seen.add(next.name)
    if (next.settings.deadLetter.queue === name) return true
    next = tx.findQueue(next.settings.deadLetter.queue)
  }
  return false
}

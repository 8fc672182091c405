/** Creates, changes, tags, purges and deletes queues. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { isFifoName, namespaceEnd } from '../../../core/check-queue.ts'
import { describeGiven } from '../../../core/checks.ts'
import { describeRange, limits } from '../../../core/limits.ts'
import { MillraceError, type Violation } from '../../../core/millrace-error.ts'
import { defaultQueueSettings } from '../../../core/queue-settings.ts'
import type {
  ChangeQueue,
  CreatedQueue,
  CreateQueue,
  Page,
  PurgeQueue,
  QueueRecord,
  QueueSettings,
  TagQueue,
} from '../../backend.ts'
import { allRows, getRow, upTo } from '../driver/rows.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { catchUpForLook, catchUpFully } from '../messages/elapsed-time.ts'
import { nobodysToken } from '../messages/message-rows.ts'
import { type Queue, queueFromRow, queueRecord } from './queue-cache.ts'

export interface QueueStatements {
  readonly insert: StatementSync
  readonly insertCounts: StatementSync
  readonly update: StatementSync
  readonly newGeneration: StatementSync
  readonly remove: StatementSync
  readonly removeCounts: StatementSync
  readonly removeRate: StatementSync
  readonly discard: StatementSync
  readonly entomb: StatementSync
  readonly deletedAt: StatementSync
  readonly unearth: StatementSync
  readonly list: StatementSync
  readonly listSources: StatementSync
}

export function prepareQueues(db: DatabaseSync): QueueStatements {
  return {
    insert: db.prepare(`
      INSERT INTO queue (name, generation, settings, tags, dead_letter, created_at, changed_at)
      VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`),
    insertCounts: db.prepare('INSERT INTO queue_count (queue) VALUES (?)'),
    update: db.prepare(`
      UPDATE queue SET settings = ?, tags = ?, dead_letter = ?, changed_at = ? WHERE id = ?`),
    newGeneration: db.prepare('UPDATE queue SET generation = ?, purged_at = ? WHERE id = ?'),
    remove: db.prepare('DELETE FROM queue WHERE id = ?'),
    removeCounts: db.prepare('DELETE FROM queue_count WHERE queue = ?'),
    removeRate: db.prepare('DELETE FROM claim_rate WHERE queue = ?'),
    discard: db.prepare('INSERT INTO discarded_generation (generation, queue) VALUES (?, ?)'),
    entomb: db.prepare('INSERT OR REPLACE INTO deleted_queue (name, deleted_at) VALUES (?, ?)'),
    deletedAt: db.prepare('SELECT deleted_at FROM deleted_queue WHERE name = ?'),
    unearth: db.prepare('DELETE FROM deleted_queue WHERE name = ?'),
    list: db.prepare(`
      SELECT * FROM queue
      WHERE name > ? AND substr(name, 1, length(?)) = ?
        AND (? = '' OR instr(name, '${namespaceEnd}') = 0) ORDER BY name ${upTo}`),
    listSources: db.prepare(`
      SELECT * FROM queue WHERE dead_letter = ? AND name > ? ORDER BY name ${upTo}`),
  }
}

export function createQueue(tx: StoreTransaction, request: CreateQueue): CreatedQueue {
  const { queue: name, settings: given = {}, tags = {}, cooldownMs = 0 } = request
  const existing = tx.session.topology.find(name)
  if (existing !== undefined) {
    refuseDifferent(existing, given)
    return { queue: queueRecord(existing), created: false }
  }
  const type = given.type ?? (isFifoName(name) ? 'fifo' : 'standard')
  const settings: QueueSettings = { ...defaultQueueSettings, ...given, type }
  refuseSettings(tx, name, settings, given)
  const { insert, insertCounts, deletedAt, unearth } = tx.session.queues
  const tomb = getRow<{ deleted_at: number }>(deletedAt, name)
  if (tomb !== undefined && tx.now - tomb.deleted_at < cooldownMs) {
    throw new MillraceError('queue_deleted_recently')
  }
  const { id } = getRow<{ id: number }>(
    insert,
    name,
    tx.nextGeneration(),
    JSON.stringify(settings),
    JSON.stringify(tags),
    settings.deadLetter?.queue ?? null,
    tx.now,
    tx.now,
  ) ?? { id: 0 }
  insertCounts.run(id)
  if (tomb !== undefined) unearth.run(name)
  tx.topologyChanged()
  return { queue: queueRecord(tx.queue(name)), created: true }
}

export function changeQueue(tx: StoreTransaction, request: ChangeQueue): QueueRecord {
  const queue = tx.queue(request.queue)
  const settings: QueueSettings = { ...queue.settings, ...request.changes }
  refuseSettings(tx, queue.name, settings, request.changes)
  if (settings.retentionMs > queue.settings.retentionMs) {
    // What has expired stays so, even if messages may now live longer.
    catchUpFully(tx, queue)
    const { retentionMs } = settings
    const { prolongHeld, prolongBlocked } = tx.session.upkeep
    prolongHeld.run(retentionMs, retentionMs, retentionMs, queue.generation)
    prolongBlocked.run(retentionMs, queue.generation)
  }
  const isShorter = settings.retentionMs < queue.settings.retentionMs
  // What had come back from a lease has come back.
  if (isShorter) catchUpForLook(tx, queue)
  save(tx, queue, settings, queue.tags)
  const saved = tx.queue(queue.name)
  // A ceiling counts what was taken before it was there.
  if (saved.countsRunning && !queue.countsRunning) {
    tx.session.gates.markRunning.run(queue.generation, nobodysToken)
  }
  if (isShorter) {
    // Leased and delayed messages may now expire before anybody would have looked at them.
    tx.session.upkeep.shortenDue.run(settings.retentionMs, queue.generation, settings.retentionMs)
    catchUpForLook(tx, saved)
  }
  return queueRecord(saved)
}

export function tagQueue(tx: StoreTransaction, request: TagQueue): QueueRecord {
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

export function deleteQueue(tx: StoreTransaction, name: string): void {
  const queue = tx.queue(name)
  // What has ended before has had its own end, and may lie among the dead letters.
  catchUpForLook(tx, queue)
  const { remove, removeCounts, removeRate, discard, entomb } = tx.session.queues
  remove.run(queue.id)
  removeCounts.run(queue.id)
  removeRate.run(queue.id)
  discard.run(queue.generation, queue.name)
  entomb.run(name, tx.now)
  tx.topologyChanged()
}

export function purgeQueue(tx: StoreTransaction, request: PurgeQueue): void {
  const queue = tx.queue(request.queue)
  const { purgedAt } = queue
  if (purgedAt !== null && tx.now - purgedAt < (request.cooldownMs ?? 0)) {
    throw new MillraceError('purge_in_progress')
  }
  catchUpFully(tx, queue)
  tx.session.queues.newGeneration.run(tx.nextGeneration(), tx.now, queue.id)
  tx.session.queues.discard.run(queue.generation, queue.name)
  for (const state of ['ready', 'leased', 'delayed'] as const) {
    tx.count(queue, state, -tx.counted(queue, state))
  }
  tx.topologyChanged()
}

/** A page of queues from a statement that was asked for one row more than the page holds. */
export function queuePage(
  statement: StatementSync,
  limit: number,
  ...values: readonly string[]
): Page<QueueRecord> {
  const rows = allRows<Readonly<Record<string, unknown>>>(statement, ...values, limit + 1)
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
  tx.session.queues.update.run(
    JSON.stringify(settings),
    JSON.stringify(tags),
    settings.deadLetter?.queue ?? null,
    tx.now,
    queue.id,
  )
  tx.topologyChanged()
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
  const target = tx.session.topology.find(deadLetter.queue)
  if (target === undefined) return refusal('a queue that exists')
  if (target.settings.type !== type) return refusal(`a ${type} queue, as this one is`)
  const { deadLetterSources } = target.settings
  const isAllowed =
    deadLetterSources === 'all' ||
    (deadLetterSources !== 'none' && deadLetterSources.includes(name))
  if (!isAllowed) return refusal('a queue that takes dead letters from this one')
  // SQS allows a queue to be its own target: see `deadLetterQueue`.
  return target.name !== name && leadsBack(tx, name, target)
    ? refusal('a queue whose own dead letters do not come back here')
    : []
}

function leadsBack(tx: StoreTransaction, name: string, target: Queue): boolean {
  const seen = new Set<string>()
  let next: Queue | undefined = target
  while (next?.settings.deadLetter && !seen.has(next.name)) {
    seen.add(next.name)
    if (next.settings.deadLetter.queue === name) return true
    next = tx.session.topology.find(next.settings.deadLetter.queue)
  }
  return false
}

/**
 * Batches: items of a key that the holder of a trigger's lease merges. The key stores that lease. A
 * holder whose lease was followed by another one ends nothing, even where its late acknowledgement
 * would be accepted.
 */

import type { LeaseRefusal } from '../../backends/backend.ts'
import type {
  BatchResult,
  BeginBatch,
  CollectorKey,
  EndBatch,
} from '../../backends/collector-store.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Receipt } from '../../core/receipt.ts'
import { readLeaseStates, receiptFor } from '../messages/leases.ts'
import { change, orReplace, query } from '../statements.ts'
import { type Steps, some } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { hasFullBatch } from './collecting.ts'
import {
  firstPlaces,
  hasStaged,
  type ItemPlace,
  type ItemRow,
  inBatch,
  stagedItem,
} from './collector-items.ts'
import {
  findKey,
  isRunning,
  type KeyRow,
  keptOf,
  keyRows,
  lockKey,
  lookAtKey,
  saveKey,
  settingsOf,
} from './collector-keys.ts'
import { type BatchPlace, rememberBatch } from './collector-memory.ts'
import {
  isOnItsWay,
  scheduleTrigger,
  triggerOf,
  triggerQueue,
  withdrawTrigger,
} from './collector-triggers.ts'

const sql = {
  noteBatch: change(`
    INSERT INTO collector_memory (collector, key, id)
    SELECT ?, ?, id FROM collector_item WHERE ${inBatch}
    ${orReplace('collector, key, id', 'expires_at')}`),
  removeKey: change('DELETE FROM collector_key WHERE number = ?'),
  retrigger: change('UPDATE collector_key SET trigger = ? WHERE trigger = ? AND kept = 1'),
  heldBy: query<KeyRow>('SELECT * FROM collector_key WHERE holder_message = ?'),
  insertKept: query<KeyRow>(`
    INSERT INTO collector_key (
      collector, key, settings, window_ms, look_at, trigger, batch_items, again, noted, kept
    ) VALUES (?, ?, ?, ?, ?, ?, 0, 0, 1, 1) RETURNING *`),
  batch: query<ItemRow>(`
    SELECT * FROM collector_item WHERE ${inBatch} ORDER BY item_order, arrival`),
  remove: change(`DELETE FROM collector_item WHERE ${inBatch}`),
  keep: change(`UPDATE collector_item SET key = ? WHERE ${inBatch}`),
}

export function* beginBatch(tx: Transaction, request: BeginBatch): Steps<BatchResult> {
  yield* lockKey(tx, request)
  const { queue: name, receipt } = request
  if (receiptFor(tx, yield* tx.queue(name), receipt) === undefined)
    throw new MillraceError('receipt_invalid')
  const [lease = 'gone'] = yield* readLeaseStates(tx, { queue: name, receipts: [receipt] })
  if (lease !== 'live') return { status: lease }
  const held = yield* heldWith(tx, request, receipt)
  if (held !== undefined) return begun(yield* batchOf(tx, held))
  yield* keepUsedUp(tx, request)
  const rows = yield* keyRows(tx, request)
  const message = tx.receipts.parse(receipt)?.sequence
  // What is kept with this trigger goes alone: it failed before, and must not take others with it.
  const key = rows.find(({ kept, trigger }) => kept === 1 && trigger === message) ?? rows[0]
  if (key === undefined) return { status: 'nothing' }
  if (yield* some(rows, (row) => isRunning(tx, row))) {
    if (key.again === 0) yield* saveKey(tx, { ...key, again: 1 })
    return { status: 'busy' }
  }
  if (rows.length > 1 && !(yield* hasStaged(tx, { key, runs: false }))) return { status: 'nothing' }
  // A late holder of another batch of this key must not end it beside the one that begins now.
  for (const row of rows) {
    if (row !== key && row.holder !== null) yield* saveKey(tx, withoutBatch(row))
  }
  return begun(yield* take(tx, key, request))
}

/** The trigger of the latest batch may be dead although it was not moved yet. */
function* keepUsedUp(tx: Transaction, about: CollectorKey): Steps<void> {
  const key = yield* findKey(tx, about)
  if (key === undefined || key.holder_message === null) return
  const trigger = yield* triggerOf(tx, yield* triggerQueue(tx, key), {
    ...key,
    trigger: key.holder_message,
  })
  if (trigger.state === 'dead') yield* keepBatch(tx, key)
}

function begun(rows: readonly ItemRow[]): BatchResult {
  return { status: 'begun', items: rows.map(stagedItem) }
}

/** The first items in order, up to the limits, also those of an earlier batch that was not ended. */
function* take(tx: Transaction, key: KeyRow, request: BeginBatch): Steps<readonly ItemRow[]> {
  const { queue, receipt, maxItems, maxBytes } = request
  // One more than may be taken shows whether anything is left.
  const found = yield* firstPlaces(tx, key, maxItems + 1)
  const taken = within(maxBytes, found.slice(0, maxItems))
  const last = taken.at(-1)
  const held: KeyRow = {
    ...key,
    holder: receipt,
    holder_queue: queue,
    holder_message: tx.receipts.parse(receipt)?.sequence ?? null,
    batch_items: taken.length,
    batch_order: last?.item_order ?? null,
    batch_last: last?.arrival ?? null,
    batch_arrival: taken.reduce((latest, { arrival }) => Math.max(latest, arrival), 0),
    again: 0,
    opened_at: taken.length === found.length ? null : (key.opened_at ?? tx.now),
  }
  yield* saveKey(tx, held)
  return yield* batchOf(tx, held)
}

/** As many as fit, and at least one: an item that is too large by itself must go too. */
function within(maxBytes: number, rows: readonly ItemPlace[]): readonly ItemPlace[] {
  let bytes = 0
  for (const [index, row] of rows.entries()) {
    bytes += row.bytes
    if (bytes > maxBytes && index > 0) return rows.slice(0, index)
  }
  return rows
}

function placeOf({ number, batch_order, batch_last, batch_arrival }: KeyRow): BatchPlace {
  return [number, batch_order, batch_last, batch_arrival]
}

function* batchOf(tx: Transaction, key: KeyRow): Steps<readonly ItemRow[]> {
  return yield* tx.all(sql.batch, ...placeOf(key))
}

/** The row of a key, or of a batch that is kept, whose batch was begun with this receipt. */
function* heldWith(
  tx: Transaction,
  about: CollectorKey,
  receipt: string,
): Steps<KeyRow | undefined> {
  return (yield* keyRows(tx, about)).find(({ holder }) => holder === receipt)
}

/** Whether the batch is still the one that was begun with this receipt; undefined when it is. */
export function* refuseBatch(
  tx: Transaction,
  receipt: Receipt,
  batch: EndBatch,
): Steps<LeaseRefusal | undefined> {
  yield* lockKey(tx, batch)
  return (yield* heldWith(tx, batch, tx.receipts.format(receipt))) === undefined
    ? 'stale'
    : undefined
}

/** Removes what was merged, and schedules a trigger for what was staged meanwhile. */
export function* endBatch(tx: Transaction, receipt: Receipt, batch: EndBatch): Steps<void> {
  const key = yield* heldWith(tx, batch, tx.receipts.format(receipt))
  if (key === undefined) return
  yield* rememberBatch(tx, key, placeOf(key), settingsOf(key).rememberMs)
  yield* tx.run(sql.remove, ...placeOf(key))
  tx.wroteRow()
  const rest = withoutBatch(key)
  yield* triggerIfNeeded(tx, rest)
  yield* triggerOtherBatches(tx, rest)
}

function withoutBatch(key: KeyRow): KeyRow {
  return {
    ...key,
    holder: null,
    holder_queue: null,
    holder_message: null,
    batch_items: 0,
    batch_order: null,
    batch_last: null,
    batch_arrival: null,
  }
}

/** Schedules triggers for rows of the key whose triggers found a batch of another row running. */
function* triggerOtherBatches(tx: Transaction, ended: KeyRow): Steps<void> {
  for (const row of yield* keyRows(tx, ended)) {
    if (row.again === 1 && row.number !== ended.number) yield* triggerIfNeeded(tx, row)
  }
}

function* triggerIfNeeded(tx: Transaction, row: KeyRow): Steps<void> {
  const rest: KeyRow = { ...row, again: 0 }
  if (!(yield* hasStaged(tx, { key: rest, runs: false }))) yield* forgetKey(tx, rest)
  else yield* followUp(tx, rest, row.again === 1 || row.kept === 1)
}

/** Items that were added meanwhile keep their window, unless they are due at once. */
function* followUp(tx: Transaction, key: KeyRow, isWanted: boolean): Steps<void> {
  const trigger = yield* triggerOf(tx, yield* triggerQueue(tx, key), key)
  const isDue = isWanted || (yield* hasFullBatch(tx, key, false))
  const endsAt = trigger.dueAt ?? (key.opened_at ?? tx.now) + key.window_ms
  const dueAt = isDue ? tx.now : Math.max(tx.now, endsAt)
  yield* saveKey(tx, yield* scheduleTrigger(tx, key, trigger, dueAt))
  yield* tx.run(lookAtKey, dueAt, key.number)
}

/** A trigger that was sent for items which this batch has taken would cut the next window short. */
function* forgetKey(tx: Transaction, key: KeyRow): Steps<void> {
  const queue = yield* triggerQueue(tx, key)
  const trigger = yield* triggerOf(tx, queue, key)
  if (queue !== undefined && isOnItsWay(trigger)) yield* withdrawTrigger(tx, queue, trigger)
  const isListed = key.kept === 0 && (yield* keptOf(tx, key)).length > 0
  if (isListed) yield* saveKey(tx, { ...key, opened_at: null, trigger: null })
  else yield* tx.run(sql.removeKey, key.number)
  if (key.kept === 1) yield* forgetEmptyKey(tx, key)
}

/** The key of a kept batch that is gone stays only for what is staged, or for another one. */
function* forgetEmptyKey(tx: Transaction, about: CollectorKey): Steps<void> {
  const key = yield* findKey(tx, about)
  if (key === undefined || (yield* hasStaged(tx, { key, runs: false }))) return
  if ((yield* keptOf(tx, about)).length === 0) yield* tx.run(sql.removeKey, key.number)
}

/** A trigger is dead-lettered: its batch is kept, and no longer blocks the key. */
export function* triggerDied(tx: Transaction, message: number): Steps<void> {
  const key = yield* tx.one(sql.heldBy, message)
  if (key !== undefined) yield* keepBatch(tx, key)
}

/** A dead-lettered trigger is redriven, and has another number now. */
export function* triggerMoved(tx: Transaction, from: number, to: number): Steps<void> {
  yield* tx.run(sql.retrigger, to, from)
}

function* keepBatch(tx: Transaction, key: KeyRow): Steps<void> {
  yield* lockKey(tx, key)
  const { collector, key: name, holder_message: trigger } = key
  const rest = withoutBatch(key)
  if (key.kept === 1) {
    yield* saveKey(tx, { ...rest, trigger })
    yield* triggerOtherBatches(tx, rest)
    return
  }
  const values = [collector, name, key.settings, key.window_ms, tx.now, trigger] as const
  const kept = yield* tx.one(sql.insertKept, ...values)
  if (kept === undefined) throw new Error('An insert returned no row.')
  yield* tx.run(sql.noteBatch, collector, name, ...placeOf(key))
  yield* tx.run(sql.keep, kept.number, ...placeOf(key))
  tx.wroteRow()
  yield* triggerIfNeeded(tx, rest.trigger === trigger ? { ...rest, trigger: null } : rest)
  yield* triggerOtherBatches(tx, rest)
}

/**
 * Batches: what was staged for a key, in the hands of whoever holds the lease of a trigger. The key
 * remembers that lease, so a holder that was followed by another one ends nothing, even where its late
 * acknowledgement alone would be accepted.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { MillraceError } from '../../core/millrace-error.ts'
import { formatReceipt, type Receipt } from '../../core/receipt.ts'
import type { LeaseRefusal } from '../backend.ts'
import type { BatchResult, BeginBatch, EndBatch } from '../collector-store.ts'
import { isFull } from './collecting.ts'
import {
  firstPlaces,
  hasStaged,
  type ItemPlace,
  type ItemRow,
  inBatch,
  stagedItem,
} from './collector-items.ts'
import { findKey, isRunning, type KeyRow, saveKey, settingsOf } from './collector-keys.ts'
import { type BatchPlace, rememberBatch } from './collector-memory.ts'
import {
  isOnItsWay,
  scheduleTrigger,
  triggerOf,
  triggerQueue,
  withdrawTrigger,
} from './collector-triggers.ts'
import { allRows } from './rows.ts'
import { leaseStates, receiptFor } from './settling.ts'
import type { StoreTransaction } from './transaction.ts'

export { refuseItems, stageItems } from './collecting.ts'

export interface BatchStatements {
  readonly batch: StatementSync
  readonly remove: StatementSync
}

export function prepareBatches(db: DatabaseSync): BatchStatements {
  return {
    batch: db.prepare(`
      SELECT * FROM collector_item WHERE ${inBatch} ORDER BY item_order, arrival`),
    remove: db.prepare(`DELETE FROM collector_item WHERE ${inBatch}`),
  }
}

export function beginBatch(tx: StoreTransaction, request: BeginBatch): BatchResult {
  const { queue: name, receipt } = request
  if (receiptFor(tx.queue(name), receipt) === undefined) throw new MillraceError('receipt_invalid')
  const [lease = 'gone'] = leaseStates(tx, { queue: name, receipts: [receipt] })
  if (lease !== 'live') return { status: lease }
  const key = findKey(tx, request)
  if (key === undefined) return { status: 'nothing' }
  if (key.holder === receipt) return begun(batchOf(tx, key))
  if (isRunning(tx, key)) {
    if (key.again === 0) saveKey(tx, { ...key, again: 1 })
    return { status: 'busy' }
  }
  return begun(take(tx, key, request))
}

function begun(rows: readonly ItemRow[]): BatchResult {
  return { status: 'begun', items: rows.map(stagedItem) }
}

/** The first items in order, up to the limits, whoever had begun with them before. */
function take(tx: StoreTransaction, key: KeyRow, request: BeginBatch): readonly ItemRow[] {
  const { queue, receipt, maxItems, maxBytes } = request
  // One more than may be taken tells whether anything is left.
  const found = firstPlaces(tx, key, maxItems + 1)
  const taken = within(maxBytes, found.slice(0, maxItems))
  const last = taken.at(-1)
  const held: KeyRow = {
    ...key,
    holder: receipt,
    holder_queue: queue,
    batch_items: taken.length,
    batch_order: last?.item_order ?? null,
    batch_last: last?.arrival ?? null,
    batch_arrival: taken.reduce((latest, { arrival }) => Math.max(latest, arrival), 0),
    again: 0,
    opened_at: taken.length === found.length ? null : (key.opened_at ?? tx.now),
  }
  saveKey(tx, held)
  return batchOf(tx, held)
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

function batchOf(tx: StoreTransaction, key: KeyRow): readonly ItemRow[] {
  return allRows<ItemRow>(tx.session.batches.batch, ...placeOf(key))
}

/** Whether the batch is still the one that was begun with this receipt; undefined when it is. */
export function refuseBatch(
  tx: StoreTransaction,
  receipt: Receipt,
  batch: EndBatch,
): LeaseRefusal | undefined {
  return findKey(tx, batch)?.holder === formatReceipt(receipt) ? undefined : 'stale'
}

/** Forgets what was merged, and sees to what was staged meanwhile. */
export function endBatch(tx: StoreTransaction, receipt: Receipt, batch: EndBatch): void {
  const key = findKey(tx, batch)
  if (key === undefined || key.holder !== formatReceipt(receipt)) return
  rememberBatch(tx, key, placeOf(key), settingsOf(key).rememberMs)
  tx.session.batches.remove.run(...placeOf(key))
  tx.wroteRow()
  const rest = withoutBatch(key)
  if (hasStaged(tx, { key: rest, runs: false })) followUp(tx, rest, key.again === 1)
  else forgetKey(tx, rest)
}

function withoutBatch(key: KeyRow): KeyRow {
  return {
    ...key,
    holder: null,
    holder_queue: null,
    batch_items: 0,
    batch_order: null,
    batch_last: null,
    batch_arrival: null,
    again: 0,
  }
}

/** What has come meanwhile keeps its window, unless it is wanted at once. */
function followUp(tx: StoreTransaction, key: KeyRow, isWanted: boolean): void {
  const trigger = triggerOf(tx, triggerQueue(tx, key), key)
  const isDue = isWanted || isFull(tx, key, false)
  const endsAt = trigger.dueAt ?? (key.opened_at ?? tx.now) + key.window_ms
  const dueAt = isDue ? tx.now : Math.max(tx.now, endsAt)
  saveKey(tx, scheduleTrigger(tx, key, trigger, dueAt))
  tx.session.collectorKeys.lookAt.run(dueAt, key.number)
}

/** A trigger that was sent for items which this batch has taken would cut the next window short. */
function forgetKey(tx: StoreTransaction, key: KeyRow): void {
  const queue = triggerQueue(tx, key)
  const trigger = triggerOf(tx, queue, key)
  if (queue !== undefined && isOnItsWay(trigger)) withdrawTrigger(tx, queue, trigger)
  tx.session.collectorKeys.remove.run(key.number)
}

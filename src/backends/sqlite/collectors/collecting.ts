/**
 * Stages items by key. An item and the trigger that it needs are stored in one commit, so a staged item
 * always has a trigger that will merge it.
 */
import { MillraceError } from '../../../core/millrace-error.ts'
import type { AddedItem, AddItems, CollectorKey } from '../../collector-store.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { refuseInQueue } from '../messages/sending.ts'
import { hasStaged, insertItem, stagedItems } from './collector-items.ts'
import {
  encodeSettings,
  findKey,
  insertKey,
  isRunning,
  type KeyRow,
  keyRows,
  saveKey,
  settingsOf,
} from './collector-keys.ts'
import { isNewItem, withIdsNoted } from './collector-memory.ts'
import {
  hurryTrigger,
  isOnItsWay,
  scheduleTrigger,
  type Trigger,
  triggerOf,
  triggerQueue,
} from './collector-triggers.ts'

/** Why the items cannot be staged; checked before anything changes. */
export function refuseItems(tx: StoreTransaction, request: AddItems): MillraceError | undefined {
  const { queue: name, message } = request.trigger
  const queue = tx.findQueue(name)
  if (queue === undefined) return new MillraceError('queue_not_found')
  if (queue.settings.type === 'fifo') {
    const allowed = 'a standard queue, where each message has a delay of its own'
    return MillraceError.invalid([{ field: 'trigger.queue', given: 'a FIFO queue', allowed }])
  }
  return refuseInQueue(tx, queue, { ...message, delayMs: request.windowMs })
}

export function addItems(tx: StoreTransaction, request: AddItems): readonly AddedItem[] {
  const refusal = refuseItems(tx, request)
  if (refusal !== undefined) throw refusal
  return stageItems(tx, request)
}

export function stageItems(tx: StoreTransaction, request: AddItems): readonly AddedItem[] {
  const found = findKey(tx, request)
  let key = found
  let isAnyNew = false
  const answers = request.items.map((item): AddedItem => {
    if (!isNewItem(tx, request, key, item)) return { id: item.id, status: 'duplicate' }
    key ??= insertKey(tx, request)
    insertItem(tx, key, item)
    key = withIdsNoted(tx, key)
    isAnyNew = true
    return { id: item.id, status: 'staged' }
  })
  if (key === undefined) return answers
  const seenTo = isAnyNew ? scheduled(tx, key, request) : withLostTriggerReplaced(tx, key)
  // Most items join an open window and leave the key as it is.
  if (seenTo !== found) saveKey(tx, seenTo)
  return answers
}

/** Decides when the items that were just staged are due, and schedules their trigger. */
function scheduled(tx: StoreTransaction, found: KeyRow, request: AddItems): KeyRow {
  const { now } = tx
  const key = opened(withSettings(found, encodeSettings(request)), request, now)
  const runs = isRunning(tx, key)
  const dueAt = hasFullBatch(tx, key, runs) ? now : windowEnd(key, now)
  const trigger = triggerOf(tx, triggerQueue(tx, key), key)
  if (runs) return scheduledBesideBatch(tx, key, trigger, dueAt)
  // The holder of the trigger is about to take these items too, and may fail.
  const isTaken = trigger.state === 'held'
  return scheduleTrigger(tx, key, trigger, isTaken ? Math.max(dueAt, now + key.window_ms) : dueAt)
}

/** Whether enough is staged for a batch, which then should not wait. */
export function hasFullBatch(tx: StoreTransaction, key: KeyRow, runs: boolean): boolean {
  const { maxItems, maxBytes } = settingsOf(key)
  const staged = stagedItems(tx, { key, runs }, maxItems)
  return staged.items >= maxItems || staged.bytes >= maxBytes
}

function withSettings(key: KeyRow, settings: string): KeyRow {
  return key.settings === settings ? key : { ...key, settings }
}

/** While a batch runs, a trigger that is due at once would only find that the key is busy. */
function scheduledBesideBatch(
  tx: StoreTransaction,
  key: KeyRow,
  trigger: Trigger,
  dueAt: number,
): KeyRow {
  if (key.again === 1) return key
  if (dueAt <= tx.now) return { ...key, again: 1 }
  return scheduleTrigger(tx, key, trigger, dueAt)
}

/** The first item opens the window and sets its length. */
function opened(key: KeyRow, { windowMs, maxWaitMs }: AddItems, now: number): KeyRow {
  if (key.opened_at !== null) return key
  return { ...key, opened_at: now, window_ms: windowMs, max_wait_ms: maxWaitMs ?? null }
}

function windowEnd({ opened_at, window_ms, max_wait_ms }: KeyRow, now: number): number {
  const openedAt = opened_at ?? now
  return max_wait_ms === null
    ? openedAt + window_ms
    : Math.min(now + window_ms, openedAt + max_wait_ms)
}

/** All items were duplicates. They change nothing, but a lost trigger is replaced. */
function withLostTriggerReplaced(tx: StoreTransaction, key: KeyRow): KeyRow {
  if (isRunning(tx, key)) return key
  const trigger = triggerOf(tx, triggerQueue(tx, key), key)
  if (trigger.state !== 'none' || !hasStaged(tx, { key, runs: false })) return key
  return scheduleTrigger(tx, key, trigger, (key.opened_at ?? tx.now) + key.window_ms)
}

/** Makes what is staged or kept due now; false when that is nothing. */
export function flushKey(tx: StoreTransaction, request: CollectorKey): boolean {
  const rows = keyRows(tx, request)
  const isBusy = rows.some((row) => isRunning(tx, row))
  const flushed = rows.filter((key) => hasStaged(tx, { key, runs: isRunning(tx, key) }))
  for (const key of flushed) saveKey(tx, isBusy ? { ...key, again: 1 } : withTriggerNow(tx, key))
  return flushed.length > 0
}

/** A holder of the trigger that has not begun may never do so; another trigger takes what is staged. */
function withTriggerNow(tx: StoreTransaction, key: KeyRow): KeyRow {
  const queue = triggerQueue(tx, key)
  const trigger = triggerOf(tx, queue, key)
  if (queue === undefined) return key
  if (!isOnItsWay(trigger)) return scheduleTrigger(tx, key, trigger, tx.now)
  hurryTrigger(tx, queue, trigger)
  return key
}

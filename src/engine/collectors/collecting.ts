/**
 * Stages items by key. An item and the trigger that it needs are stored in one commit, so a staged item
 * always has a trigger that will merge it.
 */

import type { AddedItem, AddItems, CollectorKey } from '../../backends/collector-store.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { refuseInQueue } from '../messages/sending.ts'
import { filtered, inTurn, type Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { hasStaged, insertItem, stagedItems } from './collector-items.ts'
import {
  encodeSettings,
  findKey,
  insertKey,
  isRunning,
  type KeyRow,
  keyRows,
  lockKey,
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
export function* refuseItems(tx: Transaction, request: AddItems): Steps<MillraceError | undefined> {
  const { queue: name, message } = request.trigger
  const queue = yield* tx.findQueue(name)
  if (queue === undefined) return new MillraceError('queue_not_found')
  if (queue.settings.type === 'fifo') {
    const allowed = 'a standard queue, where each message has a delay of its own'
    return MillraceError.invalid([{ field: 'trigger.queue', given: 'a FIFO queue', allowed }])
  }
  return refuseInQueue(tx, queue, { ...message, delayMs: request.windowMs })
}

export function* addItems(tx: Transaction, request: AddItems): Steps<readonly AddedItem[]> {
  const refusal = yield* refuseItems(tx, request)
  if (refusal !== undefined) throw refusal
  return yield* stageItems(tx, request)
}

export function* stageItems(tx: Transaction, request: AddItems): Steps<readonly AddedItem[]> {
  yield* lockKey(tx, request)
  tx.renumber()
  const found = yield* findKey(tx, request)
  let key = found
  let isAnyNew = false
  const answers = yield* inTurn(request.items, function* (item): Steps<AddedItem> {
    if (!(yield* isNewItem(tx, request, key, item))) return { id: item.id, status: 'duplicate' }
    key ??= yield* insertKey(tx, request)
    yield* insertItem(tx, key, item)
    key = yield* withIdsNoted(tx, key)
    isAnyNew = true
    return { id: item.id, status: 'staged' }
  })
  if (key === undefined) return answers
  const seenTo = isAnyNew
    ? yield* scheduled(tx, key, request)
    : yield* withLostTriggerReplaced(tx, key)
  // Most items join an open window and leave the key as it is.
  if (seenTo !== found) yield* saveKey(tx, seenTo)
  return answers
}

/** Decides when the items that were just staged are due, and schedules their trigger. */
function* scheduled(tx: Transaction, found: KeyRow, request: AddItems): Steps<KeyRow> {
  const { now } = tx
  const key = opened(withSettings(found, encodeSettings(request)), request, now)
  const runs = yield* isRunning(tx, key)
  const dueAt = (yield* hasFullBatch(tx, key, runs)) ? now : windowEnd(key, now)
  const trigger = yield* triggerOf(tx, yield* triggerQueue(tx, key), key)
  if (runs) return yield* scheduledBesideBatch(tx, key, trigger, dueAt)
  // The holder of the trigger is about to take these items too, and may fail.
  const isTaken = trigger.state === 'held'
  return yield* scheduleTrigger(
    tx,
    key,
    trigger,
    isTaken ? Math.max(dueAt, now + key.window_ms) : dueAt,
  )
}

/** Whether enough is staged for a batch, which then should not wait. */
export function* hasFullBatch(tx: Transaction, key: KeyRow, runs: boolean): Steps<boolean> {
  const { maxItems, maxBytes } = settingsOf(key)
  const staged = yield* stagedItems(tx, { key, runs }, maxItems)
  return staged.items >= maxItems || staged.bytes >= maxBytes
}

function withSettings(key: KeyRow, settings: string): KeyRow {
  return key.settings === settings ? key : { ...key, settings }
}

/** While a batch runs, a trigger that is due at once would only find that the key is busy. */
function* scheduledBesideBatch(
  tx: Transaction,
  key: KeyRow,
  trigger: Trigger,
  dueAt: number,
): Steps<KeyRow> {
  if (key.again === 1) return key
  if (dueAt <= tx.now) return { ...key, again: 1 }
  return yield* scheduleTrigger(tx, key, trigger, dueAt)
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
function* withLostTriggerReplaced(tx: Transaction, key: KeyRow): Steps<KeyRow> {
  if (yield* isRunning(tx, key)) return key
  const trigger = yield* triggerOf(tx, yield* triggerQueue(tx, key), key)
  if (trigger.state !== 'none' || !(yield* hasStaged(tx, { key, runs: false }))) return key
  return yield* scheduleTrigger(tx, key, trigger, (key.opened_at ?? tx.now) + key.window_ms)
}

/** Makes what is staged or kept due now; false when that is nothing. */
export function* flushKey(tx: Transaction, request: CollectorKey): Steps<boolean> {
  yield* lockKey(tx, request)
  const rows = yield* keyRows(tx, request)
  const running = yield* filtered(rows, (row) => isRunning(tx, row))
  const isBusy = running.length > 0
  const flushed = yield* filtered(rows, (key) =>
    hasStaged(tx, { key, runs: running.includes(key) }),
  )
  for (const key of flushed)
    yield* saveKey(tx, isBusy ? { ...key, again: 1 } : yield* withTriggerNow(tx, key))
  return flushed.length > 0
}

/** A holder of the trigger that has not begun may never do so; another trigger takes what is staged. */
function* withTriggerNow(tx: Transaction, key: KeyRow): Steps<KeyRow> {
  const queue = yield* triggerQueue(tx, key)
  const trigger = yield* triggerOf(tx, queue, key)
  if (queue === undefined) return key
  if (!isOnItsWay(trigger)) return yield* scheduleTrigger(tx, key, trigger, tx.now)
  yield* hurryTrigger(tx, queue, trigger)
  return key
}

/**
 * The triggers of collectors: ordinary messages, which any caller may purge, delete or write. So the
 * trigger of a key is looked up whenever it matters.
 */

import type { TriggerState } from '../../backends/collector-store.ts'
import { type ExpiringRow, expiryOf, hold } from '../messages/expiry.ts'
import { delayed, leased, unleasedToken } from '../messages/message-rows.ts'
import { messageRemoved, type RemovedRow } from '../messages/removing.ts'
import { storeMessage } from '../messages/sending.ts'
import { leaseEnded } from '../messages/tenants.ts'
import type { Queue } from '../queues/queue.ts'
import { change, oneOf, query } from '../statements.ts'
import type { Step, Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import { type KeyRow, settingsOf } from './collector-keys.ts'

const unheld = `WHERE sequence = ? AND generation = ?
  AND (state = ${delayed} OR (state = ${leased} AND token = ${unleasedToken}))`
const find = `
  SELECT sequence, generation, state, due_at, held_until, token, sent_at, expires_at, receive_count,
    group_name
  FROM message WHERE`

const sql = {
  find: query<TriggerRow>(`${find} sequence = ?`),
  findAll: query<TriggerRow>(`${find} ${oneOf('sequence')}`),
  postpone: change(`
    UPDATE message SET due_at = ?, held_until = ?
    WHERE sequence = ? AND generation = ? AND state = ${delayed}`),
  // It is not leased: it waits for its time, or for its retry.
  hurry: change(`UPDATE message SET state = 0, held_until = NULL, bucket = NULL ${unheld}`),
  withdraw: query<RemovedRow>(`
    DELETE FROM message
    WHERE sequence = ? AND generation = ? AND (state <> ${leased} OR token = ${unleasedToken})
    RETURNING sequence, state, group_name, body IS NULL AS apart`),
}

interface TriggerRow extends ExpiringRow {
  readonly sequence: number
  readonly generation: number
  readonly state: number
  readonly due_at: number
  readonly held_until: number | null
  readonly token: number
  readonly receive_count: number
  readonly group_name: string | null
}

/** The latest trigger of a key as it is now. */
export interface Trigger {
  readonly state: TriggerState
  /** When it can be received; null when that is not planned. */
  readonly dueAt: number | null
  /** Present unless it is gone. */
  readonly row?: TriggerRow
}

const none: Trigger = { state: 'none', dueAt: null }

/** The queue of a key's triggers, if there still is one. */
export function* triggerQueue(view: View, key: KeyRow): Steps<Queue | undefined> {
  return yield* view.findQueue(settingsOf(key).queue)
}

export function* triggerOf(view: View, queue: Queue | undefined, key: KeyRow): Steps<Trigger> {
  if (queue === undefined || key.trigger === null) return none
  const row = yield* view.one(sql.find, key.trigger)
  return yield* triggerAs(view, queue, row)
}

/** The triggers of many keys, by one look. */
export function* triggerOfEach(
  view: View,
  keys: readonly KeyRow[],
): Steps<(key: KeyRow) => Step<Trigger>> {
  const rows = yield* view.all(sql.findAll, JSON.stringify(keys.map(({ trigger }) => trigger)))
  const found = new Map(rows.map((row) => [row.sequence, row]))
  return function* (key): Steps<Trigger> {
    const queue = yield* triggerQueue(view, key)
    return queue === undefined ? none : yield* triggerAs(view, queue, found.get(key.trigger ?? 0))
  }
}

function* triggerAs(view: View, queue: Queue, row: TriggerRow | undefined): Steps<Trigger> {
  if (row === undefined) return none
  const { deadLetter } = queue.settings
  const deadLetters = deadLetter && (yield* view.findQueue(deadLetter.queue))
  if (row.generation !== queue.generation) {
    // Anywhere else it was purged with its queue, and only the sweep has not come by yet.
    return row.generation === deadLetters?.generation ? { state: 'dead', dueAt: null, row } : none
  }
  if (expiryOf(queue, row, false) <= view.now) return none
  const dueAt = row.held_until ?? row.due_at
  const isDue = (row.state !== delayed && row.state !== leased) || dueAt <= view.now
  if (!isDue && row.state === leased && row.token !== unleasedToken) {
    return { state: 'held', dueAt: null, row }
  }
  // The next receive will not give it out any more.
  if (deadLetters && deadLetter && row.receive_count >= deadLetter.maxReceives) {
    return { state: 'dead', dueAt: null, row }
  }
  if (isDue) return { state: 'due', dueAt: Math.min(view.now, dueAt), row }
  return { state: row.state === delayed ? 'waiting' : 'retrying', dueAt, row }
}

/** Whether it will be delivered without further action. */
export function isOnItsWay({ state }: Trigger): boolean {
  return state === 'waiting' || state === 'due' || state === 'retrying'
}

/** Schedules a trigger for this time; returns the key that names it. */
export function* scheduleTrigger(
  tx: Transaction,
  key: KeyRow,
  trigger: Trigger,
  dueAt: number,
): Steps<KeyRow> {
  const queue = yield* triggerQueue(tx, key)
  if (queue === undefined) return key
  if (isOnItsWay(trigger)) {
    if (trigger.state === 'waiting') yield* moveTrigger(tx, queue, trigger, dueAt)
    return key
  }
  const delayMs = Math.max(0, dueAt - tx.now)
  const { sequence } = yield* storeMessage(tx, queue, { ...settingsOf(key).message, delayMs })
  return { ...key, trigger: sequence }
}

function* moveTrigger(tx: Transaction, queue: Queue, trigger: Trigger, dueAt: number): Steps<void> {
  const { row } = trigger
  if (row === undefined || trigger.dueAt === dueAt) return
  if (dueAt <= tx.now) {
    yield* hurryTrigger(tx, queue, trigger)
    return
  }
  const { dueAt: lookAt, heldUntil } = hold(dueAt, expiryOf(queue, row, false))
  yield* tx.run(sql.postpone, lookAt, heldUntil, row.sequence, queue.generation)
  tx.wroteRow(queue)
}

/** Makes a trigger due that waits for its time, or for its retry. */
export function* hurryTrigger(tx: Transaction, queue: Queue, { row }: Trigger): Steps<void> {
  if (row === undefined) return
  if (!(yield* tx.changed(sql.hurry, row.sequence, queue.generation))) return
  tx.count(queue, row.state === delayed ? 'delayed' : 'leased', -1)
  tx.count(queue, 'ready', 1)
  tx.gainedReady(queue)
  if (row.state === leased) yield* leaseEnded(tx, queue, row.group_name, tx.now)
}

/** Removes a trigger that was not received and has nothing left to do. */
export function* withdrawTrigger(tx: Transaction, queue: Queue, { row }: Trigger): Steps<void> {
  if (row === undefined) return
  const deleted = yield* tx.one(sql.withdraw, row.sequence, queue.generation)
  if (deleted === undefined) return
  yield* messageRemoved(tx, queue, deleted)
  tx.count(queue, 'acknowledged', 1)
}

/** The row of a key that has items, with the settings of its triggers and batches. */

import type { NewMessage } from '../../backends/backend.ts'
import type { AddItems, CollectorKey } from '../../backends/collector-store.ts'
import { readLeaseStates } from '../messages/leases.ts'
import { change, query, type Statement } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'

const sql = {
  find: query<KeyRow>('SELECT * FROM collector_key WHERE collector = ? AND key = ? AND kept = 0'),
  insert: query<KeyRow>(`
    INSERT INTO collector_key (
      collector, key, settings, window_ms, look_at, batch_items, again, noted
    ) VALUES (?, ?, ?, ?, ?, 0, 0, 0) RETURNING *`),
  update: change(`
    UPDATE collector_key SET
      settings = ?, opened_at = ?, window_ms = ?, max_wait_ms = ?, trigger = ?, holder = ?,
      holder_queue = ?, holder_message = ?, batch_items = ?, batch_order = ?, batch_last = ?, batch_arrival = ?,
      again = ?, noted = ?
    WHERE number = ?`),
  keptOf: query<KeyRow>(`
    SELECT * FROM collector_key WHERE collector = ? AND key = ? AND kept = 1 ORDER BY number`),
}

export const lookAtKey: Statement = change('UPDATE collector_key SET look_at = ? WHERE number = ?')

export interface KeyRow {
  readonly number: number
  readonly collector: string
  readonly key: string
  readonly settings: string
  readonly opened_at: number | null
  readonly window_ms: number
  readonly max_wait_ms: number | null
  readonly look_at: number
  readonly trigger: number | null
  readonly holder: string | null
  readonly holder_queue: string | null
  readonly holder_message: number | null
  /** Of the latest batch, also after its holder has lost it. */
  readonly batch_items: number
  readonly batch_order: number | null
  readonly batch_last: number | null
  readonly batch_arrival: number | null
  readonly again: 0 | 1
  /** Its staged items are recognised by their ids in `collector_memory`. */
  readonly noted: 0 | 1
  /** 1: a batch of the key whose trigger was dead-lettered, with its items. */
  readonly kept: 0 | 1
}

/** The settings of the latest item of a key, for the triggers and batches that follow. */
export interface KeySettings {
  readonly queue: string
  readonly message: NewMessage
  readonly maxItems: number
  readonly maxBytes: number
  readonly rememberMs: number
}

export function encodeSettings(request: AddItems): string {
  const { trigger, maxItems, maxBytes, rememberMs } = request
  const { delayMs: _, ...message } = trigger.message
  const settings: KeySettings = { queue: trigger.queue, message, maxItems, maxBytes, rememberMs }
  return JSON.stringify(settings)
}

export function settingsOf({ settings }: Pick<KeyRow, 'settings'>): KeySettings {
  return JSON.parse(settings)
}

/** A key is for one transaction at a time: it has rows, items and a trigger that belong together. */
export function* lockKey(tx: Transaction, { collector, key }: CollectorKey): Steps<void> {
  yield* tx.lock(`collector:${collector}:${key}`)
}

export function* findKey(view: View, { collector, key }: CollectorKey): Steps<KeyRow | undefined> {
  return yield* view.one(sql.find, collector, key)
}

/** Batches of a key that are kept with their dead-lettered triggers, oldest first. */
export function* keptOf(view: View, { collector, key }: CollectorKey): Steps<readonly KeyRow[]> {
  return yield* view.all(sql.keptOf, collector, key)
}

/** The key itself, and then the batches that are kept. */
export function* keyRows(view: View, about: CollectorKey): Steps<readonly KeyRow[]> {
  const key = yield* findKey(view, about)
  // While a batch is kept its key stays, so that there is one row to list.
  return key === undefined ? [] : [key, ...(yield* keptOf(view, about))]
}

export function* insertKey(tx: Transaction, request: AddItems): Steps<KeyRow> {
  const { collector, key, windowMs } = request
  const settings = encodeSettings(request)
  const lookAt = tx.now + windowMs
  const row = yield* tx.one(sql.insert, collector, key, settings, windowMs, lookAt)
  if (row === undefined) throw new Error('An insert returned no row.')
  tx.wroteRow()
  return row
}

export function* saveKey(tx: Transaction, row: KeyRow): Steps<void> {
  yield* tx.run(
    sql.update,
    row.settings,
    row.opened_at,
    row.window_ms,
    row.max_wait_ms,
    row.trigger,
    row.holder,
    row.holder_queue,
    row.holder_message,
    row.batch_items,
    row.batch_order,
    row.batch_last,
    row.batch_arrival,
    row.again,
    row.noted,
    row.number,
  )
  tx.wroteRow()
}

/** Whether the latest batch may still be ended by its holder. */
export function* isRunning(view: View, { holder, holder_queue: queue }: KeyRow): Steps<boolean> {
  if (holder === null || queue === null) return false
  if ((yield* view.findQueue(queue)) === undefined) return false
  return (yield* readLeaseStates(view, { queue, receipts: [holder] }))[0] === 'live'
}

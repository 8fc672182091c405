/** The row of a key that has items, with what was said about its triggers and its limits. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { NewMessage } from '../backend.ts'
import type { AddItems, CollectorKey } from '../collector-store.ts'
import { getRow, upTo } from './rows.ts'
import { leaseStates, type StoreView } from './settling.ts'
import type { StoreTransaction } from './transaction.ts'

export interface KeyStatements {
  readonly find: StatementSync
  readonly insert: StatementSync
  readonly update: StatementSync
  readonly lookAt: StatementSync
  readonly remove: StatementSync
  readonly overdue: StatementSync
}

export function prepareCollectorKeys(db: DatabaseSync): KeyStatements {
  return {
    find: db.prepare('SELECT * FROM collector_key WHERE collector = ? AND key = ?'),
    insert: db.prepare(`
      INSERT INTO collector_key (
        collector, key, settings, window_ms, look_at, batch_items, again, noted
      ) VALUES (?, ?, ?, ?, ?, 0, 0, 0) RETURNING *`),
    update: db.prepare(`
      UPDATE collector_key SET
        settings = ?, opened_at = ?, window_ms = ?, max_wait_ms = ?, trigger = ?, holder = ?,
        holder_queue = ?, batch_items = ?, batch_order = ?, batch_last = ?, batch_arrival = ?,
        again = ?, noted = ?
      WHERE number = ?`),
    lookAt: db.prepare('UPDATE collector_key SET look_at = ? WHERE number = ?'),
    remove: db.prepare('DELETE FROM collector_key WHERE number = ?'),
    overdue: db.prepare(`
      SELECT * FROM collector_key INDEXED BY collector_key_by_look
      WHERE look_at <= ? ORDER BY look_at ${upTo}`),
  }
}

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
  /** Of the latest batch, also after its holder has lost it. */
  readonly batch_items: number
  readonly batch_order: number | null
  readonly batch_last: number | null
  readonly batch_arrival: number | null
  readonly again: 0 | 1
  /** Its staged items are recognised by their ids in `collector_memory`. */
  readonly noted: 0 | 1
}

/** What the latest item of a key said, for the triggers and batches that follow. */
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

export function findKey(
  { session }: Pick<StoreView, 'session'>,
  { collector, key }: CollectorKey,
): KeyRow | undefined {
  return getRow<KeyRow>(session.collectorKeys.find, collector, key)
}

export function insertKey(tx: StoreTransaction, request: AddItems): KeyRow {
  const { collector, key, windowMs } = request
  const { insert } = tx.session.collectorKeys
  const settings = encodeSettings(request)
  const lookAt = tx.now + windowMs
  const row = getRow<KeyRow>(insert, collector, key, settings, windowMs, lookAt)
  if (row === undefined) throw new Error('An insert that answers its row has answered none.')
  tx.wroteRow()
  return row
}

export function saveKey(tx: StoreTransaction, row: KeyRow): void {
  tx.session.collectorKeys.update.run(
    row.settings,
    row.opened_at,
    row.window_ms,
    row.max_wait_ms,
    row.trigger,
    row.holder,
    row.holder_queue,
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

/** Whether whoever began the latest batch may still end it. */
export function isRunning(view: StoreView, { holder, holder_queue: queue }: KeyRow): boolean {
  if (holder === null || queue === null) return false
  if (view.session.topology.find(queue) === undefined) return false
  return leaseStates(view, { queue, receipts: [holder] })[0] === 'live'
}

/**
 * Which items a key has had. Merged ones are remembered by their ids. Staged ones lie together, so a few
 * of them are looked through, at no cost of a page written; of keys with many, and of batches that are
 * kept, ids are noted too.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { CollectorKey, NewItem } from '../../collector-store.ts'
import { changed, getRow } from '../driver/rows.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { inBatch, stagedItems } from './collector-items.ts'
import type { KeyRow } from './collector-keys.ts'

/** More staged items than this are not looked through one by one. */
const fewItems = 64

export interface MemoryStatements {
  readonly find: StatementSync
  readonly recall: StatementSync
  readonly note: StatementSync
  readonly noteAll: StatementSync
  readonly noteBatch: StatementSync
  readonly remember: StatementSync
  readonly forget: StatementSync
}

export function prepareCollectorMemory(db: DatabaseSync): MemoryStatements {
  return {
    find: db.prepare('SELECT 1 FROM collector_item WHERE key = ? AND id = ?'),
    recall: db.prepare(`
      SELECT 1 FROM collector_memory
      WHERE collector = ? AND key = ? AND id = ? AND (expires_at IS NULL OR expires_at > ?)`),
    note: db.prepare(`
      INSERT INTO collector_memory (collector, key, id) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET expires_at = NULL WHERE expires_at <= ?`),
    noteAll: db.prepare(`
      INSERT OR REPLACE INTO collector_memory (collector, key, id)
      SELECT ?, ?, id FROM collector_item WHERE key = ?`),
    noteBatch: db.prepare(`
      INSERT OR REPLACE INTO collector_memory (collector, key, id)
      SELECT ?, ?, id FROM collector_item WHERE ${inBatch}`),
    remember: db.prepare(`
      INSERT OR REPLACE INTO collector_memory (collector, key, id, expires_at)
      SELECT ?, ?, id, ? FROM collector_item WHERE ${inBatch}`),
    forget: db.prepare(`
      DELETE FROM collector_memory
      WHERE collector = ? AND key = ? AND id IN (SELECT id FROM collector_item WHERE ${inBatch})`),
  }
}

/** Whether an item is neither staged nor was merged not long ago; where ids are noted, this one now is. */
export function isNewItem(
  tx: StoreTransaction,
  { collector, key: name }: CollectorKey,
  key: KeyRow | undefined,
  { id }: NewItem,
): boolean {
  const { find, recall, note } = tx.session.collectorMemory
  if (key?.noted === 1) {
    if (!changed(note, collector, name, id, tx.now)) return false
    tx.wroteRow()
    return true
  }
  if (key !== undefined && getRow(find, key.number, id) !== undefined) return false
  return getRow(recall, collector, name, id, tx.now) === undefined
}

/** A key that has come to have many items goes over to noting their ids. */
export function withIdsNoted(tx: StoreTransaction, key: KeyRow): KeyRow {
  if (key.noted === 1) return key
  const { items } = stagedItems(tx, { key, runs: false }, fewItems)
  if (items < fewItems) return key
  tx.session.collectorMemory.noteAll.run(key.collector, key.key, key.number)
  tx.wroteRow()
  return { ...key, noted: 1 }
}

export type BatchPlace = readonly [number, number | null, number | null, number | null]

/** Remembers the ids of a batch that was merged. */
export function rememberBatch(
  tx: StoreTransaction,
  { collector, key, noted }: KeyRow,
  place: BatchPlace,
  rememberMs: number,
): void {
  const { remember, forget } = tx.session.collectorMemory
  if (rememberMs > 0) remember.run(collector, key, tx.now + rememberMs, ...place)
  else if (noted === 1) forget.run(collector, key, ...place)
}

/**
 * Which items a key has had. Merged ones are remembered by their ids. Staged ones lie together, so a few
 * of them are looked through, at no cost of a page written; of keys with many, and of batches that are
 * kept, ids are noted too.
 */

import type { CollectorKey, NewItem } from '../../backends/collector-store.ts'
import { change, orReplace, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { inBatch, stagedItems } from './collector-items.ts'
import type { KeyRow } from './collector-keys.ts'

/** More staged items than this are not looked through one by one. */
const fewItems = 64

const sql = {
  find: query<unknown>('SELECT 1 FROM collector_item WHERE key = ? AND id = ?'),
  recall: query<unknown>(`
    SELECT 1 FROM collector_memory
    WHERE collector = ? AND key = ? AND id = ? AND (expires_at IS NULL OR expires_at > ?)`),
  note: change(`
    INSERT INTO collector_memory (collector, key, id) VALUES (?, ?, ?)
    ON CONFLICT (collector, key, id) DO UPDATE SET expires_at = NULL WHERE collector_memory.expires_at <= ?`),
  noteAll: change(`
    INSERT INTO collector_memory (collector, key, id)
    SELECT ?, ?, id FROM collector_item WHERE key = ?
    ${orReplace('collector, key, id', 'expires_at')}`),
  remember: change(`
    INSERT INTO collector_memory (collector, key, id, expires_at)
    SELECT ?, ?, id, ? FROM collector_item WHERE ${inBatch}
    ${orReplace('collector, key, id', 'expires_at')}`),
  forget: change(`
    DELETE FROM collector_memory
    WHERE collector = ? AND key = ? AND id IN (SELECT id FROM collector_item WHERE ${inBatch})`),
}

/** Whether an item is neither staged nor was merged not long ago; where ids are noted, this one now is. */
export function* isNewItem(
  tx: Transaction,
  { collector, key: name }: CollectorKey,
  key: KeyRow | undefined,
  { id }: NewItem,
): Steps<boolean> {
  if (key?.noted === 1) {
    if (!(yield* tx.changed(sql.note, collector, name, id, tx.now))) return false
    tx.wroteRow()
    return true
  }
  if (key !== undefined && (yield* tx.one(sql.find, key.number, id)) !== undefined) return false
  return (yield* tx.one(sql.recall, collector, name, id, tx.now)) === undefined
}

/** A key that has many items records their ids from now on. */
export function* withIdsNoted(tx: Transaction, key: KeyRow): Steps<KeyRow> {
  if (key.noted === 1) return key
  const { items } = yield* stagedItems(tx, { key, runs: false }, fewItems)
  if (items < fewItems) return key
  yield* tx.run(sql.noteAll, key.collector, key.key, key.number)
  tx.wroteRow()
  return { ...key, noted: 1 }
}

export type BatchPlace = readonly [number, number | null, number | null, number | null]

/** Remembers the ids of a batch that was merged. */
export function* rememberBatch(
  tx: Transaction,
  { collector, key, noted }: KeyRow,
  place: BatchPlace,
  rememberMs: number,
): Steps<void> {
  if (rememberMs > 0) yield* tx.run(sql.remember, collector, key, tx.now + rememberMs, ...place)
  else if (noted === 1) yield* tx.run(sql.forget, collector, key, ...place)
}

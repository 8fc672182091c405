/** The keys that the store's texts are sealed with. */
import type { KeyId, NewKey, StoredKey } from '../../key-store.ts'
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction, StoreView } from '../driver/transaction.ts'

const columns = 'id, check_value AS "check", added_at AS addedAt'

const sql = {
  list: query<StoredKey>(`SELECT ${columns} FROM encryption_key ORDER BY id`),
  add: change('INSERT INTO encryption_key (id, check_value, added_at) VALUES (?, ?, ?)'),
  remove: change('DELETE FROM encryption_key WHERE id = ?'),
}

export function listKeys(view: StoreView): readonly StoredKey[] {
  // Rows arrive as objects without a prototype, which are not equal to any other object.
  return view.all(sql.list).map((row) => ({ ...row }))
}

export function addKey(tx: StoreTransaction, { id, check }: NewKey): StoredKey {
  const known = listKeys(tx).find((key) => key.id === id)
  if (known !== undefined) return known
  tx.run(sql.add, id, check, tx.now)
  // Processes that have the store open check the keys again.
  tx.queuesChanged()
  return { id, check, addedAt: tx.now }
}

export function removeKey(tx: StoreTransaction, { id }: KeyId): boolean {
  const isRemoved = tx.changed(sql.remove, id)
  if (isRemoved) tx.queuesChanged()
  return isRemoved
}

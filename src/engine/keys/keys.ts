/** The keys that the store's texts are sealed with. */

import type { KeyId, NewKey, StoredKey } from '../../backends/key-store.ts'
import { change, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'

const columns = 'id, check_value AS "check", added_at AS "addedAt"'

const sql = {
  list: query<StoredKey>(`SELECT ${columns} FROM encryption_key ORDER BY id`),
  add: change('INSERT INTO encryption_key (id, check_value, added_at) VALUES (?, ?, ?)'),
  remove: change('DELETE FROM encryption_key WHERE id = ?'),
}

export function* listKeys(view: View): Steps<readonly StoredKey[]> {
  // Rows arrive as objects without a prototype, which are not equal to any other object.
  return (yield* view.all(sql.list)).map((row) => ({ ...row }))
}

export function* addKey(tx: Transaction, { id, check }: NewKey): Steps<StoredKey> {
  const known = (yield* listKeys(tx)).find((key) => key.id === id)
  if (known !== undefined) return known
  yield* tx.run(sql.add, id, check, tx.now)
  // Processes that have the store open check the keys again.
  yield* tx.queuesChanged()
  return { id, check, addedAt: tx.now }
}

export function* removeKey(tx: Transaction, { id }: KeyId): Steps<boolean> {
  const isRemoved = yield* tx.changed(sql.remove, id)
  if (isRemoved) yield* tx.queuesChanged()
  return isRemoved
}

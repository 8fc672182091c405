/** A message that was moved counts by the keys of the queue that it is in now. */

import { limitValuesIn } from '../../../core/limit-keys.ts'
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import type { Queue } from '../queues/queue-cache.ts'

const sql = {
  body: query<{ body: string }>(`
    SELECT coalesce(message.body, message_body.body) AS body
    FROM message LEFT JOIN message_body USING (sequence) WHERE sequence = ?`),
  set: change('UPDATE message SET limit_keys = ? WHERE sequence = ?'),
}

/** Values that a send would have been refused for do not count. */
export function countByKeysOf(tx: StoreTransaction, target: Queue, sequence: number): void {
  const { perKey } = target.settings.ceilings
  if (perKey.length === 0) return
  const row = tx.one(sql.body, sequence)
  if (row !== undefined) tx.run(sql.set, limitValuesIn(tx.session.open(row.body), perKey), sequence)
}

/** A message that was moved counts by the keys of the queue that it is in now. */

import { limitValuesIn } from '../../core/limit-keys.ts'
import type { Queue } from '../queues/queue.ts'
import { change, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'

const sql = {
  body: query<{ body: string }>(`
    SELECT coalesce(message.body, message_body.body) AS body
    FROM message LEFT JOIN message_body USING (sequence) WHERE sequence = ?`),
  set: change('UPDATE message SET limit_keys = ? WHERE sequence = ?'),
}

/** Values that a send would have been refused for do not count. */
export function* countByKeysOf(tx: Transaction, target: Queue, sequence: number): Steps<void> {
  const { perKey } = target.settings.ceilings
  if (perKey.length === 0) return
  const row = yield* tx.one(sql.body, sequence)
  if (row !== undefined) yield* tx.run(sql.set, limitValuesIn(tx.open(row.body), perKey), sequence)
}

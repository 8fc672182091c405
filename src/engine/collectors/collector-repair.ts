/** Finds keys whose trigger was lost with a purge, a deletion or its retention, a few at a time. */

import type { CollectorKey, RepairedKeys, RepairKeys } from '../../backends/collector-store.ts'
import { query, upTo } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { hasStaged } from './collector-items.ts'
import { isRunning, type KeyRow, lockKey, lookAtKey, saveKey } from './collector-keys.ts'
import { scheduleTrigger, triggerOf, triggerQueue } from './collector-triggers.ts'

const sql = {
  overdue: query<KeyRow>(`
    SELECT * FROM collector_key /*sqlite INDEXED BY collector_key_by_look */
    WHERE look_at <= ? ORDER BY look_at, number ${upTo}`),
}

export function* repairKeys(tx: Transaction, request: RepairKeys): Steps<RepairedKeys> {
  const { overdueMs, limit } = request
  const repaired: CollectorKey[] = []
  const stuck: CollectorKey[] = []
  for (const row of yield* tx.all(sql.overdue, tx.now - overdueMs, limit)) {
    const { collector, key } = row
    yield* lockKey(tx, row)
    const found = yield* repair(tx, row)
    if (found === 'repaired') note(repaired, { collector, key })
    if (found === 'stuck') note(stuck, { collector, key })
    // Others wait behind it, also when all is well with it.
    yield* tx.run(lookAtKey, tx.now, row.number)
    tx.wroteRow()
  }
  return { repaired, stuck }
}

/** A key may have several rows: batches that are kept have their own. */
function note(found: CollectorKey[], { collector, key }: CollectorKey): void {
  const isNoted = found.some((one) => one.collector === collector && one.key === key)
  if (!isNoted) found.push({ collector, key })
}

function* repair(tx: Transaction, key: KeyRow): Steps<'sound' | 'repaired' | 'stuck'> {
  const queue = yield* triggerQueue(tx, key)
  if (queue === undefined || (yield* isRunning(tx, key))) return 'sound'
  if (!(yield* hasStaged(tx, { key, runs: false }))) return 'sound'
  const trigger = yield* triggerOf(tx, queue, key)
  // The trigger of items that came while a batch ran was left to the end of the batch, and there was none.
  const hasEndMessage = trigger.state === 'dead' && key.again === 1
  if (trigger.state === 'none' || hasEndMessage) {
    yield* saveKey(tx, { ...(yield* scheduleTrigger(tx, key, trigger, tx.now)), again: 0 })
    return 'repaired'
  }
  return trigger.state === 'dead' ? 'stuck' : 'sound'
}

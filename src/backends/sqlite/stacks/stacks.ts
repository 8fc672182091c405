/** The records of stacks. */

import type { StackName, StackRecord, WriteStack } from '../../stack-store.ts'
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction, StoreView } from '../driver/transaction.ts'

const columns = 'name AS stack, document, written_at AS writtenAt'

const sql = {
  byName: query<StackRecord>(`SELECT ${columns} FROM stack WHERE name = ?`),
  all: query<StackRecord>(`SELECT ${columns} FROM stack ORDER BY name`),
  write: change('INSERT OR REPLACE INTO stack (name, document, written_at) VALUES (?, ?, ?)'),
}

export function readStack(view: StoreView, { stack }: StackName): StackRecord | undefined {
  const row = view.one(sql.byName, stack)
  return row && recordOf(row)
}

export function listStacks(view: StoreView): readonly StackRecord[] {
  return view.all(sql.all).map(recordOf)
}

export function writeStack(tx: StoreTransaction, { stack, document }: WriteStack): void {
  tx.run(sql.write, stack, document, tx.now)
  tx.wroteRow()
}

/** Rows arrive as objects without a prototype, which are not equal to any other object. */
function recordOf(row: StackRecord): StackRecord {
  return { ...row }
}

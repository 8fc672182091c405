/** The records of stacks. */

import type { StackName, StackRecord, WriteStack } from '../../backends/stack-store.ts'
import { change, orReplace, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'

const columns = 'name AS stack, document, written_at AS "writtenAt"'

const sql = {
  byName: query<StackRecord>(`SELECT ${columns} FROM stack WHERE name = ?`),
  all: query<StackRecord>(`SELECT ${columns} FROM stack ORDER BY name`),
  write: change(`INSERT INTO stack (name, document, written_at) VALUES (?, ?, ?)
    ${orReplace('name', 'document, written_at')}`),
}

export function* readStack(view: View, { stack }: StackName): Steps<StackRecord | undefined> {
  const row = yield* view.one(sql.byName, stack)
  return row && recordOf(row)
}

export function* listStacks(view: View): Steps<readonly StackRecord[]> {
  return (yield* view.all(sql.all)).map(recordOf)
}

export function* writeStack(tx: Transaction, { stack, document }: WriteStack): Steps<void> {
  yield* tx.run(sql.write, stack, document, tx.now)
  tx.wroteRow()
}

/** Rows arrive as objects without a prototype, which are not equal to any other object. */
function recordOf(row: StackRecord): StackRecord {
  return { ...row }
}

/** The tables in the file of the embedded store. */
import type { StoreConnection } from 'millrace'
import { Database } from '../../shared/database.ts'
import { schema } from './schema.ts'
import type { Tables, Value, Writes } from './tables.ts'

export function sqliteTables(file: string): Tables {
  const db = new Database(file, schema({ key: 'INTEGER PRIMARY KEY', bytes: 'BLOB' }))
  return {
    rows: async <Row>(sql: string, ...values: readonly Value[]) => db.all<Row>(sql, ...values),
    write: async (writes) => db.transaction((connection) => run(connection, writes())),
    within: (writes) => (connection) => run(connection as StoreConnection, writes()),
    [Symbol.asyncDispose]: async () => db.close(),
  }
}

function run<Result>(db: Pick<StoreConnection, 'prepare'>, writes: Writes<Result>): Result {
  let step = writes.next()
  while (!step.done) {
    const { sql, values } = step.value
    step = writes.next(Number(db.prepare(sql).run(...values).changes))
  }
  return step.value
}

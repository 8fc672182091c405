/** The tables in the Postgres database of the store. */
import type { LentClient } from 'millrace/postgres'
import pg from 'pg'
import { schema } from './schema.ts'
import type { Tables, Value, Writes } from './tables.ts'

const int8 = 20
const numeric = 1700

/** Times and counts are numbers, as in SQLite. */
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === int8 || oid === numeric ? Number : pg.types.getTypeParser(oid, format),
} as pg.CustomTypesConfig

export async function postgresTables(url: string): Promise<Tables> {
  const pool = new pg.Pool({ connectionString: url, types })
  // The next statement gets another connection.
  pool.on('error', () => undefined)
  const write: Tables['write'] = async (writes) => {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      const result = await run(client, writes())
      await client.query('COMMIT')
      return result
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    } finally {
      client.release()
    }
  }
  await write(function* () {
    // Several processes start at once, and only one of them may create a table.
    yield { sql: "SELECT pg_advisory_xact_lock(hashtext('ingestion'))", values: [] }
    yield { sql: schema({ key: 'BIGSERIAL PRIMARY KEY', bytes: 'BYTEA' }), values: [] }
  })
  return {
    rows: async <Row>(sql: string, ...values: readonly Value[]) =>
      (await pool.query(numbered(sql), [...values])).rows as readonly Row[],
    write,
    within: (writes) => (connection) => run(connection as LentClient, writes()),
    [Symbol.asyncDispose]: () => pool.end(),
  }
}

async function run<Result>(client: LentClient, writes: Writes<Result>): Promise<Result> {
  let step = writes.next()
  while (!step.done) {
    const { sql, values } = step.value
    step = writes.next((await client.query(numbered(sql), values)).rowCount ?? 0)
  }
  return step.value
}

function numbered(sql: string): string {
  let places = 0
  return sql.replaceAll('?', () => `$${++places}`)
}

/**
 * A SQLite file that several processes and threads write to, as they would to a database server. It
 * stands for the Postgres and the MongoDB of the document.
 */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'

export type Row = Readonly<Record<string, unknown>>

export interface SqliteFile extends Disposable {
  row(sql: string, values?: readonly SQLInputValue[]): Row | undefined
  rows(sql: string, values?: readonly SQLInputValue[]): readonly Row[]
  /** The number of rows that were changed. */
  change(sql: string, values?: readonly SQLInputValue[]): number
  /** All changes within it, or none of them. */
  atOnce<Answer>(work: () => Answer): Answer
}

export function openSqliteFile(file: string, schema: string): SqliteFile {
  if (file !== ':memory:') mkdirSync(dirname(file), { recursive: true })
  const database = new DatabaseSync(file, { timeout: 10_000 })
  database.exec('PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON')
  const atOnce = <Answer>(work: () => Answer): Answer => {
    database.exec('BEGIN IMMEDIATE')
    try {
      const answer = work()
      database.exec('COMMIT')
      return answer
    } finally {
      if (database.isTransaction) database.exec('ROLLBACK')
    }
  }
  atOnce(() => database.exec(schema))
  return {
    row: (sql, values = []) => database.prepare(sql).get(...values),
    rows: (sql, values = []) => database.prepare(sql).all(...values),
    change: (sql, values = []) => Number(database.prepare(sql).run(...values).changes),
    atOnce,
    [Symbol.dispose]: () => database.close(),
  }
}

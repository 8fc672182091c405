/**
 * A SQLite file for the data of an example, separate from the queues or in the store's own file. Several
 * processes and threads can open it at the same time.
 */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'

export type Row = Readonly<Record<string, unknown>>

export class Database implements Disposable {
  readonly #db: DatabaseSync

  /** `schema` runs at every start, so use `CREATE TABLE IF NOT EXISTS`. */
  constructor(file: string, schema: string) {
    if (file !== ':memory:') mkdirSync(dirname(file), { recursive: true })
    this.#db = new DatabaseSync(file, { timeout: 10_000 })
    // Commits survive a power cut, as in the store of the queues.
    this.#db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
    this.transaction((db) => db.exec(schema))
  }

  /** The first row, or undefined. `Columns` is the row's type; it is not checked. */
  get<Columns = Row>(sql: string, ...values: SQLInputValue[]): Columns | undefined {
    const row = this.#db.prepare(sql).get(...values)
    return row && ({ ...row } as Columns)
  }

  all<Columns = Row>(sql: string, ...values: SQLInputValue[]): readonly Columns[] {
    const rows = this.#db.prepare(sql).all(...values)
    return rows.map((row) => ({ ...row }) as Columns)
  }

  /** Returns the number of changed rows. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#db.prepare(sql).run(...values).changes)
  }

  /** Commits everything or nothing. Other processes cannot write meanwhile. */
  transaction<Result>(work: (db: DatabaseSync) => Result): Result {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      const result = work(this.#db)
      this.#db.exec('COMMIT')
      return result
    } finally {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
    }
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

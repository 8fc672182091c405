/**
 * The limit of `node:sqlite` itself: bare prepared statements on a table with one index, WAL and FULL. No queue on
 * this store can be faster.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { body } from './load.ts'
import { perSecond } from './report.ts'

const leaseMs = 30_000

export class RawStore {
  readonly #db: DatabaseSync
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #insert: StatementSync
  readonly #claim: StatementSync
  readonly #delete: StatementSync

  constructor(file: string, settings = '') {
    this.#db = new DatabaseSync(file)
    this.#db.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      ${settings}
      CREATE TABLE item (
        id INTEGER PRIMARY KEY, queue INTEGER, due INTEGER, token INTEGER, count INTEGER, body TEXT
      );
      CREATE INDEX item_due ON item (queue, due);`)
    this.#begin = this.#db.prepare('BEGIN IMMEDIATE')
    this.#commit = this.#db.prepare('COMMIT')
    this.#insert = this.#db.prepare(
      'INSERT INTO item (queue, due, count, body) VALUES (1, ?, 0, ?)',
    )
    this.#claim = this.#db.prepare(`
      UPDATE item SET due = ?, token = ?, count = count + 1
      WHERE id IN (SELECT id FROM item WHERE queue = 1 AND due <= ? ORDER BY due LIMIT 100)
      RETURNING id, body, count`)
    this.#delete = this.#db.prepare('DELETE FROM item WHERE id = ? AND token = ?')
  }

  /** Inserts in groups with one commit each; returns rows per second. */
  insert(count: number, groupSize = 100): number {
    const startedMs = performance.now()
    for (let done = 0; done < count; done += groupSize) {
      this.#begin.run()
      for (let index = 0; index < groupSize; index += 1) this.#insert.run(Date.now(), body)
      this.#commit.run()
    }
    return perSecond(count, performance.now() - startedMs)
  }

  /** Inserts one by one, with a commit and a sync for each; returns rows per second. */
  insertSingles(count: number): number {
    const startedMs = performance.now()
    for (let done = 0; done < count; done += 1) this.#insert.run(Date.now(), body)
    return perSecond(count, performance.now() - startedMs)
  }

  /** Claims 100 in one commit and deletes them in the next; returns rows per second. */
  claimAndDelete(count: number): number {
    const startedMs = performance.now()
    for (let done = 0; done < count; done += 100) {
      const now = Date.now()
      this.#begin.run()
      const rows = this.#claim.all(now + leaseMs, done, now)
      this.#commit.run()
      this.#begin.run()
      for (const row of rows) this.#delete.run(row['id'] ?? null, done)
      this.#commit.run()
    }
    return perSecond(count, performance.now() - startedMs)
  }

  close(): void {
    this.#db.close()
  }
}

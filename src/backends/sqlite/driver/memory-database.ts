/**
 * Opens a store in memory. Each is a copy of the first one that this process migrated: the migrations take
 * ten times as long as the schema that they lead to, and tests open a store each.
 */
import { DatabaseSync } from 'node:sqlite'
import type { Ids } from '../../../core/ports.ts'
import { migrate } from './database.ts'

/** The SQL of the tables and indexes of a new store, and of its first rows. */
let script: string | undefined

export function openMemoryDatabase(ids: Ids): DatabaseSync {
  script ??= newStoreScript()
  const db = new DatabaseSync(':memory:')
  db.exec(`PRAGMA temp_store = MEMORY; BEGIN; ${script} COMMIT;`)
  // The migrations chose these at random. Message ids and receipts follow from the ports.
  const digits = ids.next().replaceAll('-', '')
  const [prefix, key] = [digits.slice(0, idPrefixLength), digits.slice(-receiptKeyLength)]
  db.prepare('UPDATE store SET id_prefix = ?, receipt_key = ?').run(prefix, key)
  return db
}

const idPrefixLength = 14
const receiptKeyLength = 16

function newStoreScript(): string {
  using db = new DatabaseSync(':memory:')
  migrate(db, ':memory:')
  const statements: string[] = []
  for (const { sql } of db.prepare(readSchema).all()) statements.push(`${sql};`)
  for (const { name } of db.prepare(readTables).all()) {
    for (const row of db.prepare(`SELECT * FROM ${name}`).all()) {
      const columns = Object.keys(row).join(', ')
      statements.push(`INSERT INTO ${name} (${columns}) VALUES (${literals(row)});`)
    }
  }
  return statements.join('\n')
}

/** SQLite makes its own tables and indexes, whose names begin with `sqlite_`. */
const isOwn = "name NOT LIKE 'sqlite!_%' ESCAPE '!'"
const readSchema = `SELECT sql FROM sqlite_schema WHERE ${isOwn} ORDER BY rowid`
const readTables = `SELECT name FROM sqlite_schema WHERE type = 'table' AND ${isOwn}`

function literals(row: Readonly<Record<string, unknown>>): string {
  return Object.values(row)
    .map((value) => (typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : `${value}`))
    .join(', ')
}

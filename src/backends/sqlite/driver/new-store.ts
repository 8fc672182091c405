/**
 * Gives a new store its tables and first rows. The first new store of a process runs the migrations. They take
 * ten times as long as the schema that they lead to, so later ones get that schema, which has the same text.
 */
import type { DatabaseSync } from 'node:sqlite'
import { migrations } from '../migrations/index.ts'

/** The SQL of the tables and indexes of a new store, and of its first rows. */
let script: string | undefined

/** Call it in a transaction on an empty database. */
export function createStore(db: DatabaseSync): void {
  if (script !== undefined) {
    db.exec(`${script} ${chooseAtRandom}`)
    return
  }
  for (const migration of migrations) db.exec(migration)
  script = scriptOf(db)
}

/** No two stores have the same. */
const chooseAtRandom =
  'UPDATE store SET id_prefix = lower(hex(randomblob(7))), receipt_key = lower(hex(randomblob(8)));'

function scriptOf(db: DatabaseSync): string {
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

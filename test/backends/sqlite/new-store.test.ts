import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'vitest'
import { openDatabase } from '../../../src/backends/sqlite/driver/database.ts'
import { openMemoryDatabase } from '../../../src/backends/sqlite/driver/memory-database.ts'
import { migrations } from '../../../src/backends/sqlite/migrations/index.ts'
import { seededIds } from '../../../src/testing/virtual-clock.ts'
import { inTemporaryFolder } from '../../support/temporary-folder.ts'

type Row = Readonly<Record<string, unknown>>

/** A store as each version of the program would have made it, one after the other. */
function migrated(): DatabaseSync {
  const db = new DatabaseSync(':memory:')
  for (const migration of migrations) db.exec(migration)
  db.exec(`PRAGMA user_version = ${migrations.length}; PRAGMA application_id = ${0x4d694c72}`)
  return db
}

/** Tables, indexes and marks. */
function schemaOf(db: DatabaseSync): unknown {
  const sql = 'SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid'
  const marks = ['user_version', 'application_id'].map((name) => db.prepare(`PRAGMA ${name}`).get())
  return [db.prepare(sql).all(), marks]
}

function rowsOf(db: DatabaseSync): readonly (readonly [table: string, rows: readonly Row[]])[] {
  const names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  return names.map(({ name }) => [String(name), db.prepare(`SELECT * FROM ${name}`).all()])
}

/** `table.column` of each value that differs. */
function differences(one: DatabaseSync, other: DatabaseSync): readonly string[] {
  const others = new Map(rowsOf(other))
  return rowsOf(one).flatMap(([table, rows]) => {
    const counterparts = others.get(table) ?? []
    assert.equal(rows.length, counterparts.length, table)
    return rows.flatMap((row, index) =>
      Object.keys(row)
        .filter((column) => row[column] !== counterparts[index]?.[column])
        .map((column) => `${table}.${column}`),
    )
  })
}

const chosenAtRandom = ['store.id_prefix', 'store.receipt_key']

describe('a new store', () => {
  test('has the tables, indexes and rows that the migrations make, whether it is the first or not', () =>
    inTemporaryFolder('new-store', async (folder) => {
      using expected = migrated()
      for (const name of ['first.db', 'second.db', 'third.db']) {
        using db = openDatabase(folder.file(name))
        assert.deepEqual(schemaOf(db), schemaOf(expected))
        assert.deepEqual(differences(db, expected), chosenAtRandom)
        assert.equal(db.prepare('PRAGMA integrity_check').get()?.['integrity_check'], 'ok')
      }
      using memory = openMemoryDatabase(seededIds(1))
      assert.deepEqual(schemaOf(memory), schemaOf(expected))
      assert.deepEqual(differences(memory, expected), chosenAtRandom)
    }))

  test('shares nothing that is chosen at random with another one', () =>
    inTemporaryFolder('new-store', async (folder) => {
      // So that a new random column is not forgotten.
      using one = migrated()
      using other = migrated()
      assert.deepEqual(differences(one, other), chosenAtRandom)
      const chosen = ['first.db', 'second.db', 'third.db'].map((name) => {
        using db = openDatabase(folder.file(name))
        return { ...db.prepare('SELECT id_prefix, receipt_key FROM store').get() }
      })
      for (const { id_prefix, receipt_key } of chosen) {
        assert.match(String(id_prefix), /^[0-9a-f]{14}$/)
        assert.match(String(receipt_key), /^[0-9a-f]{16}$/)
      }
      assert.equal(new Set(chosen.flatMap((each) => Object.values(each))).size, 6)
    }))
})

import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'vitest'
import { MillraceError } from '../core/millrace-error.ts'
import { type ReplaceRows, replaceRows } from './replace-rows.ts'

function openTable(): DatabaseSync {
  const db = new DatabaseSync(':memory:')
  db.exec(
    `CREATE TABLE chunk (document TEXT, unit INTEGER, text TEXT, bytes BLOB, "order" INTEGER)`,
  )
  db.exec(`INSERT INTO chunk (document, unit, text) VALUES
    ('d', 1, 'old'), ('d', 1, 'older'), ('d', 2, 'kept'), ('e', 1, 'kept'), ('d', NULL, 'kept')`)
  return db
}

const textsOf = (db: DatabaseSync): readonly unknown[] =>
  db
    .prepare('SELECT text FROM chunk')
    .all()
    .map(({ text }) => text)

describe('replacing the rows of a unit', () => {
  test('deletes those and no others, and inserts the new ones with the values of the unit', () => {
    const db = openTable()
    const rows = [
      { text: 'new', order: 1 },
      { text: 'newer', order: 2 },
    ]
    const where = { document: 'd', unit: 1 }
    assert.deepEqual(replaceRows(db, { table: 'chunk', where, rows }), { deleted: 2, inserted: 2 })
    assert.deepEqual(textsOf(db), ['kept', 'kept', 'kept', 'new', 'newer'])
    const written = db.prepare('SELECT document, unit, "order" FROM chunk WHERE text = ?')
    assert.deepEqual({ ...written.get('newer') }, { document: 'd', unit: 1, order: 2 })
  })

  test('only deletes when there are no new ones, and takes null for a value', () => {
    const db = openTable()
    const where = { document: 'd', unit: null }
    assert.deepEqual(replaceRows(db, { table: 'chunk', where, rows: [] }), {
      deleted: 1,
      inserted: 0,
    })
    assert.equal(textsOf(db).length, 4)
  })

  test('binds every value, whatever it looks like', () => {
    const db = openTable()
    const text = "'); DROP TABLE chunk; --"
    const where = { document: "' OR 1 = 1 --" }
    const bytes = new Uint8Array([0, 255])
    const rows = [{ text, bytes, unit: 2n ** 53n }]
    assert.deepEqual(replaceRows(db, { table: 'chunk', where, rows }), { deleted: 0, inserted: 1 })
    assert.equal(textsOf(db).at(-1), text)
  })

  test('takes rows that repeat the values of the unit, in any order of columns', () => {
    const db = openTable()
    const rows = [
      { unit: 1, text: 'a' },
      { text: 'b', unit: 1 },
    ]
    const where = { document: 'd', unit: 1 }
    assert.equal(replaceRows(db, { table: 'chunk', where, rows }).inserted, 2)
    assert.deepEqual(textsOf(db).slice(-2), ['a', 'b'])
  })

  const unit = { document: 'd' }
  test.each<readonly [string, unknown]>([
    ['table', { table: 'chunk"; DROP TABLE chunk; --', where: unit, rows: [] }],
    ['table', { table: '', where: unit, rows: [] }],
    ['table', { table: undefined, where: unit, rows: [] }],
    ['where: a column', { table: 'chunk', where: { 'a" = 1 OR "b': 1 }, rows: [] }],
    ['where', { table: 'chunk', where: {}, rows: [] }],
    ['where.document', { table: 'chunk', where: { document: undefined }, rows: [] }],
    ['rows[0].text', { table: 'chunk', where: unit, rows: [{ text: true }] }],
    ['rows[0].text', { table: 'chunk', where: unit, rows: [{ text: {} }] }],
    ['rows[0].unit', { table: 'chunk', where: unit, rows: [{ unit: Number.NaN }] }],
    ['rows[0].document', { table: 'chunk', where: unit, rows: [{ document: 'e' }] }],
    ['rows[1]', { table: 'chunk', where: unit, rows: [{ text: 'a' }, { unit: 1 }] }],
    ['rows[0]: a column', { table: 'chunk', where: unit, rows: [{ 'text) --': 1 }] }],
  ])('refuses what is wrong with %s, and changes nothing', (field, request) => {
    const db = openTable()
    assert.throws(
      () => replaceRows(db, request as ReplaceRows),
      (error) => {
        assert.ok(error instanceof MillraceError)
        assert.deepEqual(
          error.violations.map((one) => one.field),
          [field],
        )
        return true
      },
    )
    assert.equal(textsOf(db).length, 5)
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { change, declaredStatements, greatest, orReplace, query, textFor } from './statements.ts'

describe('a statement', () => {
  test('has the parts of one database in comments that begin with its name', () => {
    const statement = query('SELECT 1 FROM t /*sqlite INDEXED BY i */ /*postgres FOR UPDATE */')
    assert.equal(textFor('sqlite', statement), 'SELECT 1 FROM t INDEXED BY i ')
    assert.equal(textFor('postgres', statement), 'SELECT 1 FROM t  FOR UPDATE')
    const larger = change(`UPDATE t SET a = ${greatest}(a, ?)`)
    assert.equal(textFor('sqlite', larger), 'UPDATE t SET a = max(a, ?)')
    assert.equal(textFor('postgres', larger), 'UPDATE t SET a = greatest(a, ?)')
  })

  test('may write over the row with the same key', () => {
    assert.equal(
      orReplace('a, b', 'c, d'),
      'ON CONFLICT (a, b) DO UPDATE SET c = excluded.c, d = excluded.d',
    )
  })

  test('has a slot of its own', () => {
    const slots = declaredStatements.map(({ slot }) => slot)
    assert.equal(new Set(slots).size, slots.length)
  })
})

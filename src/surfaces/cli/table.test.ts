import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { table } from './table.ts'

describe('a table', () => {
  test('aligns its columns, and leaves out those in which nothing stands', () => {
    const rows = [
      { by: 'anna', note: null, set_at: '1' },
      { by: 'bo', note: null, set_at: '22' },
    ]
    assert.equal(table(['by', 'note', 'set_at'], rows), 'BY    SET AT\nanna  1\nbo    22')
  })

  test('shows what others wrote without letting it steer the terminal or forge a row', () => {
    const [, ...lines] = table(['note'], [{ note: '\x1B[2Ja\nb\u009B\u2028\u202Ec' }]).split('\n')
    assert.deepEqual(lines, ['\uFFFD[2Ja\uFFFDb\uFFFD\uFFFD\uFFFDc'])
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { age } from './age.ts'
import { type ColourChoice, usesColour } from './colour.ts'
import { attribute } from './message-attribute.ts'
import { pair, wholeNumberIn } from './option-values.ts'

describe('an age', () => {
  test.each([
    [0, '0s'],
    [999, '0s'],
    [12_400, '12s'],
    [60_000, '1m'],
    [754_000, '12m 34s'],
    [3 * 86_400_000 + 4 * 3_600_000 + 5, '3d 4h'],
    [86_400_000 + 60_000, '1d'],
  ])('of %i ms is %s', (ms, text) => {
    assert.equal(age(ms), text)
  })
})

describe('colour', () => {
  const cases: readonly [ColourChoice, Record<string, string>, boolean, boolean][] = [
    ['auto', {}, true, true],
    ['auto', {}, false, false],
    ['auto', { NO_COLOR: '1' }, true, false],
    ['auto', { NO_COLOR: '' }, true, true],
    ['auto', { TERM: 'dumb' }, true, false],
    ['auto', { FORCE_COLOR: '1' }, false, true],
    ['auto', { FORCE_COLOR: '1', NO_COLOR: '1' }, false, true],
    ['auto', { FORCE_COLOR: '0' }, true, false],
    ['always', { NO_COLOR: '1' }, false, true],
    ['never', { FORCE_COLOR: '1' }, true, false],
  ]
  test.each(cases)(
    '%s with %j on a terminal (%s) is %s',
    (choice, environment, isTerminal, used) => {
      assert.equal(usesColour(choice, { environment, isTerminal }), used)
    },
  )
})

describe('the value of an option', () => {
  test('is a pair at its first equals sign', () => {
    assert.deepEqual(pair('a=b=c', { x: 'y' }), { x: 'y', a: 'b=c' })
    assert.throws(() => pair('=b'), /name=value/)
  })

  test.each(['-1', '1.5', '1e3', '0x10', '', ' 5', '9999999999999999'])(
    'is no whole number: %j',
    (text) => {
      assert.throws(
        () => wholeNumberIn({ min: 0, max: 1_000 })(text),
        /whole number from 0 to 1000/,
      )
    },
  )

  test('is an attribute with or without its type', () => {
    assert.deepEqual(attribute('a=1'), { a: { type: 'String', value: '1' } })
    assert.deepEqual(attribute('a:Number.float=1.5'), { a: { type: 'Number.float', value: '1.5' } })
    assert.throws(() => attribute('a'), /name=value/)
  })
})

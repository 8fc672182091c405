import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { linearForm, numericValue, solve } from './linear-form.ts'
import { parseStep } from './parse-step.ts'
import { add, divide, equal, multiply, rational, subtract } from './rational.ts'
import { formToLatex, numberToLatex } from './to-latex.ts'

/** The sides of a line, each simplified. */
function sidesOf(text: string): readonly (string | undefined)[] | undefined {
  return parseStep(text)?.map((side) => {
    const form = linearForm(side)
    return form && formToLatex(form, 'x')
  })
}

describe('a line of work', () => {
  test.each([
    ['3x + 5 = 20', ['3x + 5', '20']],
    ['3x+5=20', ['3x + 5', '20']],
    ['2(x - 3) = 14', ['2x - 6', '14']],
    ['47 + 38 = 85', ['85', '85']],
    ['\\frac{1}{2} + \\frac{3}{4}', ['\\frac{5}{4}']],
    ['\\dfrac{x}{2} = -3', ['\\frac{1}{2}x', '-3']],
    ['2 \\cdot 3 + 4 \\times 5', ['26']],
    ['12 \\div 4 \\div 3', ['1']],
    ['\\left(2 - x\\right) \\cdot 3', ['-3x + 6']],
    ['- -x', ['x']],
    ['2 + 3 = 5 = 4 + 1', ['5', '5', '5']],
    ['1.5x − 0.5', ['\\frac{3}{2}x - \\frac{1}{2}']],
    ['$x = \\frac{25}{3}$', ['x', '\\frac{25}{3}']],
  ])('%s is parsed', (text, sides) => {
    assert.deepEqual(sidesOf(text), sides)
  })

  test.each([
    '',
    'five',
    'x^{2} = 4',
    '3 +',
    '(2',
    '2)',
    '2 3',
    '= 4',
    '3 = ',
    '\\sqrt{4}',
    '1..2',
  ])('%j is refused', (text) => {
    assert.equal(parseStep(text), undefined)
  })

  test('can be nested and long, up to a limit', () => {
    assert.ok(parseStep(`${'('.repeat(30)}1${')'.repeat(30)}`))
    assert.equal(parseStep(`${'('.repeat(60)}1${')'.repeat(60)}`), undefined)
    assert.equal(parseStep(`${'-'.repeat(60)}1`), undefined)
    assert.equal(parseStep('1'.repeat(301)), undefined)
  })

  test('of any characters is parsed or refused, and never throws', () => {
    const unit = fc.constantFrom(...'0123xy+-*/=(){}[].^\\ ', '\\frac', '\\cdot', '$', 'é')
    fc.assert(fc.property(fc.string({ unit }), (text) => void sidesOf(text)))
  })
})

describe('an expression', () => {
  test('that is not linear has no linear form', () => {
    for (const text of ['x * x', '1 / x', 'x + y', '1 / 0', '1 / (2 - 2)']) {
      assert.deepEqual(sidesOf(text), [undefined], text)
    }
  })

  test('without an unknown has a value', () => {
    const [side] = parseStep('3 - 4 / 8') ?? []
    assert.ok(side)
    assert.deepEqual(numericValue(side), rational(5n, 2n))
  })
})

test('an equation has the solution that makes both sides equal', () => {
  const [left, right] = parseStep('12x - 7 = 5x + 28') ?? []
  assert.ok(left && right)
  assert.deepEqual(solve(left, right), rational(5n))
  const [same, again] = parseStep('x + 1 = x + 2') ?? []
  assert.ok(same && again)
  assert.equal(solve(same, again), undefined)
})

test('fractions obey the laws of arithmetic', () => {
  const fraction = fc
    .tuple(fc.bigInt(-999n, 999n), fc.bigInt(1n, 999n))
    .map(([top, bottom]) => rational(top, bottom))
  fc.assert(
    fc.property(fraction, fraction, fraction, (a, b, c) => {
      assert.deepEqual(multiply(a, add(b, c)), add(multiply(a, b), multiply(a, c)))
      assert.deepEqual(subtract(add(a, b), b), a)
      const quotient = divide(a, b)
      assert.ok(quotient === undefined ? b.top === 0n : equal(multiply(quotient, b), a))
    }),
  )
})

test('numbers are printed as they are read', () => {
  fc.assert(
    fc.property(fc.bigInt(-999n, 999n), fc.bigInt(1n, 99n), (top, bottom) => {
      const value = rational(top, bottom)
      const [side] = parseStep(numberToLatex(value)) ?? []
      assert.ok(side)
      assert.deepEqual(numericValue(side), value)
    }),
  )
})

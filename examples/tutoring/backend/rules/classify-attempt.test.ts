import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, test } from 'vitest'
import { classifyAttempt } from './classify-attempt.ts'
import { errorTagId, errorTagOf, errorTags } from './taxonomy.ts'

const codeOf = (exercise: string, ...lines: readonly string[]): string | null =>
  classifyAttempt(exercise, lines).errorCode

describe('a right answer', () => {
  test.each([
    ['47 + 38', ['85']],
    ['47 + 38', ['47 + 38 = 85']],
    ['2 + 3 \\cdot 4', ['2 + 12', '14']],
    ['\\frac{1}{2} + \\frac{3}{4}', ['\\frac{2}{4} + \\frac{3}{4}', '\\frac{5}{4}']],
    ['3x + 5 = 20', ['3x = 15', 'x = 5']],
    ['3x + 5 = 20', ['5 = x']],
    ['2(x - 3) = 14', ['2x - 6 = 14', '2x = 20', 'x = 10']],
    ['3x = 2', ['x = \\frac{2}{3}']],
    ['3x + 2x', ['5x']],
  ])('of %s is recognised, however it was found: %j', (exercise, lines) => {
    const { isCorrect, errorCode, wrongLine } = classifyAttempt(exercise, lines)
    assert.deepEqual([isCorrect, errorCode, wrongLine], [true, null, null])
  })
})

describe('a mistake', () => {
  test.each([
    ['47 + 38', '75', 'ADD_CARRY_OMITTED'],
    ['52 - 37', '25', 'SUB_SMALLER_FROM_LARGER'],
    ['503 - 168', '465', 'SUB_SMALLER_FROM_LARGER'],
    ['503 - 168', '445', 'SUB_BORROW_NOT_PAID'],
    ['7 \\cdot 8', '54', null],
    ['7 \\cdot 8', '48', 'TIMES_TABLE_SLIP'],
    ['6 + 7 \\cdot 8', '6 + 63', 'TIMES_TABLE_SLIP'],
    ['15 - 4', '19', 'OPERATION_SWAPPED'],
    ['2 + 3 \\cdot 4', '20', 'ORDER_OF_OPERATIONS'],
    ['\\frac{1}{2} + \\frac{3}{4}', '\\frac{4}{6}', 'FRACTION_ADD_ACROSS'],
    ['\\frac{1}{2} + \\frac{3}{4}', '\\frac{2}{3}', 'FRACTION_ADD_ACROSS'],
    ['3x + 5 = 20', '3x = 25', 'TRANSPOSE_SIGN_KEPT'],
    ['12x - 7 = 5x + 28', '17x - 7 = 28', 'TRANSPOSE_SIGN_KEPT'],
    ['3x + 5 = 20', '3x = 20', 'ONE_SIDE_ONLY'],
    ['3x = 15', 'x = 15', 'ONE_SIDE_ONLY'],
    ['3x = 15', 'x = 12', 'COEFFICIENT_SUBTRACTED'],
    ['3x = 15', 'x = \\frac{1}{5}', 'DIVISION_INVERTED'],
    ['2(x + 3) = 14', '2x + 3 = 14', 'DISTRIBUTE_FIRST_ONLY'],
    ['10 - (x - 3) = 4', '10 - x - 3 = 4', 'NEGATIVE_NOT_DISTRIBUTED'],
    ['3x + 5', '8x', 'UNLIKE_TERMS_COMBINED'],
    ['3x + 5 = 16', '8x = 16', 'UNLIKE_TERMS_COMBINED'],
  ])('in %s, %s: %s', (exercise, line, code) => {
    assert.equal(codeOf(exercise, line), code)
  })

  test('is searched in the first wrong line only', () => {
    const lines = ['3x = 15', 'x = 12', 'x = 5']
    assert.deepEqual(classifyAttempt('3x + 5 = 20', lines), {
      isCorrect: false,
      errorCode: 'COEFFICIENT_SUBTRACTED',
      wrongLine: 1,
    })
  })

  test('can be that the work is not finished', () => {
    assert.equal(codeOf('3x + 5 = 20', '3x = 15'), 'NOT_FINISHED')
    assert.equal(codeOf('2 + 3 \\cdot 4', '2 + 12'), 'NOT_FINISHED')
  })
})

describe('an attempt that no rule explains', () => {
  test.each([
    ['47 + 38', ['58']],
    ['47 + 38', ['eighty-five']],
    ['3x + 5 = 20', ['x = 71']],
    ['x^{2} = 4', ['x = 2']],
    ['47 + 38', []],
    ['3x + 5 = 20', ['5']],
  ])('of %s: %j is left unclassified', (exercise, lines) => {
    const { isCorrect, errorCode } = classifyAttempt(exercise, lines)
    assert.deepEqual([isCorrect, errorCode], [false, null])
  })

  test('of any text gets a result', () => {
    const line = fc.string({ unit: fc.constantFrom(...'0123x+-*/=() ', '\\frac'), maxLength: 40 })
    fc.assert(
      fc.property(line, fc.array(line, { maxLength: 5 }), (exercise, lines) => {
        const { isCorrect, errorCode } = classifyAttempt(exercise, lines)
        assert.ok(!(isCorrect && errorCode))
      }),
      { numRuns: 2_000 },
    )
  })
})

test('sums with a carry are distinguished from sums without', () => {
  const digits = fc.integer({ min: 0, max: 9_999 })
  fc.assert(
    fc.property(digits, digits, (left, right) => {
      const width = 5
      const columns = Array.from({ length: width }, (_, index) => {
        const [top, bottom] = [left, right].map(
          (value) => String(value).padStart(width, '0')[index],
        )
        return (Number(top) + Number(bottom)) % 10
      })
      const answer = Number(columns.join(''))
      const { isCorrect, errorCode } = classifyAttempt(`${left} + ${right}`, [String(answer)])
      const expected = answer === left + right ? null : 'ADD_CARRY_OMITTED'
      assert.deepEqual([isCorrect, errorCode], [expected === null, expected])
    }),
  )
})

test('every error tag has an id and a code of its own', () => {
  assert.equal(new Set(errorTags.map(({ id }) => id)).size, errorTags.length)
  assert.equal(new Set(errorTags.map(({ code }) => code)).size, errorTags.length)
  for (const { id, code } of errorTags) {
    assert.equal(errorTagId(code), id)
    assert.equal(errorTagOf(id)?.code, code)
  }
  assert.equal(errorTagOf('00000000-0000-4000-8000-000000000000'), undefined)
})

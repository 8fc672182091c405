import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import {
  Answer,
  filtered,
  gathered,
  inTurn,
  runAtOnce,
  type Step,
  type Steps,
  some,
} from './steps.ts'

const even = (number: number): Step<boolean> => new Answer(number % 2 === 0)

describe('steps', () => {
  test('are answered at once, or after a wait', () => {
    function* late(): Steps<number> {
      yield Promise.resolve()
      return 2
    }
    function* rule(): Steps<number> {
      return (yield* new Answer(1)) + (yield* late())
    }
    assert.equal(runAtOnce(rule()), 3)
    assert.equal(runAtOnce(new Answer('done')), 'done')
  })

  test('run for each item in turn, and as far as needed', () => {
    const seen: number[] = []
    const noting = (number: number): Step<boolean> => {
      seen.push(number)
      return even(number)
    }
    assert.deepEqual(runAtOnce(inTurn([1, 2], even)), [false, true])
    assert.deepEqual(runAtOnce(filtered([1, 2, 4], even)), [2, 4])
    assert.equal(runAtOnce(some([1, 2, 3], noting)), true)
    assert.deepEqual(seen, [1, 2])
    assert.equal(runAtOnce(some([1], even)), false)
    const twice = (number: number): Step<readonly number[]> => new Answer([number, number])
    assert.deepEqual(runAtOnce(gathered([1, 2], twice)), [1, 1, 2, 2])
  })

  test('throw where their rule waits', () => {
    function* failing(): Steps<never> {
      yield Promise.resolve()
      throw new Error('no')
    }
    function* rule(): Steps<string> {
      try {
        return yield* failing()
      } catch {
        return 'caught'
      }
    }
    assert.equal(runAtOnce(rule()), 'caught')
  })
})

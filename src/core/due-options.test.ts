import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type Due, type DueOptions, dueOf } from './due-options.ts'
import { limits } from './limits.ts'
import { MillraceError } from './millrace-error.ts'

const now = Date.UTC(2030, 0, 1)
const clock = { now: () => now }
const tenYears = limits.messageDelayMs.max

describe('when something is due', () => {
  test('follows from a delay, a time, or neither', () => {
    const cases: readonly [DueOptions, Due][] = [
      [{}, {}],
      [{ delay: '0s' }, { delayMs: 0 }],
      [{ delay: '400d' }, { delayMs: 400 * 86_400_000 }],
      [{ delay: { ms: tenYears } }, { delayMs: tenYears }],
      [{ runAt: new Date(now + 1) }, { runAt: now + 1 }],
      [{ runAt: new Date(now + tenYears) }, { runAt: now + tenYears }],
      [{ runAt: new Date(now - 60_000) }, { runAt: now - 60_000 }],
    ]
    for (const [options, due] of cases) assert.deepEqual(dueOf(options, clock), due)
  })

  test('is refused in the past, beyond ten years, and if it is not a time', () => {
    const cases: readonly [object, string][] = [
      [{ runAt: new Date(now - 60_001) }, 'jobs[0].runAt'],
      [{ runAt: new Date(now + tenYears + 1) }, 'jobs[0].runAt'],
      [{ runAt: new Date(Number.NaN) }, 'jobs[0].runAt'],
      [{ runAt: now }, 'jobs[0].runAt'],
      [{ runAt: '2031-01-01' }, 'jobs[0].runAt'],
      [{ runAt: null }, 'jobs[0].runAt'],
      [{ runAt: new Date(now), delay: '1s' }, 'jobs[0].runAt'],
      [{ delay: { ms: tenYears + 1 } }, 'jobs[0].delay'],
      [{ delay: 'tomorrow' }, 'jobs[0].delay'],
    ]
    for (const [options, field] of cases) {
      assert.throws(
        () => dueOf(options, clock, 'jobs[0].'),
        (error) => {
          assert.ok(error instanceof MillraceError)
          assert.equal(error.code, 'invalid_argument')
          assert.deepEqual(
            error.violations.map((violation) => violation.field),
            [field],
          )
          return true
        },
      )
    }
  })

  test('is refused with the times that are allowed', () => {
    assert.throws(
      () => dueOf({ runAt: new Date(0) }, clock),
      /1970-01-01T00:00:00.000Z.*from 2029-12-31T23:59:00.000Z to 2040-01-01T12:00:00.000Z/s,
    )
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { batch, batchOf } from './batch-handler.ts'

const run = async (): Promise<void> => undefined

describe('batch', () => {
  test('makes a handler of batches', () => {
    const { size, windowMs } = batchOf(batch({ size: 100, window: '200ms' }, run)) ?? {}
    assert.deepEqual([size, windowMs], [100, 200])
    assert.equal(batchOf(batch({ size: 1 }, run))?.windowMs, 0)
    assert.equal(batchOf(run), undefined)
  })

  test.each([
    [{ size: 0 }, /batch\.size: got 0, expected .*1 to 1000 items/],
    [{ size: 1_001 }, /batch\.size: got 1001/],
    [{ size: 1.5 }, /batch\.size: got 1\.5/],
    [{}, /batch\.size: got undefined/],
    [{ size: 5, window: '6m' }, /batch\.window: got 6m, expected a duration, 0s to 5m/],
    [{ size: 5, window: 200 }, /batch\.window: got 200, expected a duration such as/],
    [{ size: 5, windw: '1s' }, /batch\.windw: got an unknown option.*window/],
    [5, /batch: got 5, expected an object of options/],
  ])('refuses %j', (options, message) => {
    assert.throws(() => batch(options as never, run), { code: 'invalid_argument', message })
  })

  test('refuses a handler that is not a function', () => {
    assert.throws(() => batch({ size: 5 }, 'run' as never), {
      code: 'invalid_argument',
      message: /batch\.run: got 'run', expected a function/,
    })
  })

  test('must not be called as a handler of single messages', () => {
    assert.throws(() => batch<number, void, object>({ size: 5 }, run)(1, {}), {
      code: 'invalid_argument',
      message: /passed to a worker as it is/,
    })
  })
})

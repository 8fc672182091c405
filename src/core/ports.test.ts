import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test, vi } from 'vitest'
import { systemPorts } from './ports.ts'

const { clock, ids, randomness, timers } = systemPorts

describe('the timers of the machine', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('fire once, after their delay', () => {
    const run = vi.fn()
    timers.after(50, run)
    vi.advanceTimersByTime(49)
    assert.equal(run.mock.calls.length, 0)
    vi.advanceTimersByTime(1_000)
    assert.equal(run.mock.calls.length, 1)
  })

  test('do not fire when they were cancelled', () => {
    const run = vi.fn()
    const cancel = timers.after(50, run)
    cancel()
    cancel()
    vi.advanceTimersByTime(1_000)
    assert.equal(run.mock.calls.length, 0)
  })

  test('fire in the background as well', () => {
    const run = vi.fn()
    timers.after(50, run, { background: true })
    vi.advanceTimersByTime(50)
    assert.equal(run.mock.calls.length, 1)
  })

  test('fire at once when the delay is negative', () => {
    const run = vi.fn()
    timers.after(-5, run)
    vi.advanceTimersByTime(1)
    assert.equal(run.mock.calls.length, 1)
  })

  test('wait longer than the 32 bits that the runtime has for a delay', () => {
    const run = vi.fn()
    const days30 = 30 * 86_400_000
    timers.after(days30, run)
    vi.advanceTimersByTime(days30 - 1)
    assert.equal(run.mock.calls.length, 0)
    vi.advanceTimersByTime(1)
    assert.equal(run.mock.calls.length, 1)
  })

  test('can be cancelled in the second half of a long delay', () => {
    const run = vi.fn()
    const cancel = timers.after(30 * 86_400_000, run)
    vi.advanceTimersByTime(28 * 86_400_000)
    cancel()
    vi.advanceTimersByTime(30 * 86_400_000)
    assert.equal(run.mock.calls.length, 0)
  })
})

describe('the ports of the machine', () => {
  test('run soon what does not belong to this turn', async () => {
    const order: string[] = []
    const ran = new Promise<void>((resolve) => {
      timers.soon(() => {
        order.push('soon')
        resolve()
      })
    })
    await Promise.resolve()
    order.push('now')
    await ran
    assert.deepEqual(order, ['now', 'soon'])
  })

  test('have a wall clock, and one that never runs backwards', () => {
    assert.ok(Math.abs(clock.now() - Date.now()) < 60_000)
    const first = clock.monotonic()
    assert.ok(clock.monotonic() >= first)
  })

  test('have ids that are unique and numbers from 0 up to 1', () => {
    assert.match(ids.next(), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    assert.notEqual(ids.next(), ids.next())
    const number = randomness.next()
    assert.ok(number >= 0 && number < 1)
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { SweepReport } from '../backends/backend.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { VirtualClock } from '../testing/virtual-clock.ts'
import { Sweeper, type SweeperOptions, type SweepFailure } from './sweeper.ts'

interface Scene {
  readonly clock: VirtualClock
  readonly sweeper: Sweeper
  readonly failures: SweepFailure[]
  /** When each slice began. */
  readonly slices: number[]
}

function scene(
  sweep: (slice: number) => Promise<SweepReport> | SweepReport,
  pauses: Pick<SweeperOptions, 'idleMs' | 'idleGrowth' | 'nextChangeInMs'> = {},
): Scene {
  const clock = new VirtualClock({ startAt: 0 })
  const slices: number[] = []
  const failures: SweepFailure[] = []
  const backend = {
    async sweep() {
      slices.push(clock.now())
      return sweep(slices.length)
    },
  }
  const onFailure = (failure: SweepFailure): void => void failures.push(failure)
  const sweeper = new Sweeper({ backend, timers: clock, onFailure, ...pauses })
  return { clock, slices, failures, sweeper }
}

const done: SweepReport = { changed: 0, more: false }
const broken = new MillraceError('store_failed')

describe('the sweeper', () => {
  test('sweeps every second', async () => {
    const { clock, sweeper, slices } = scene(() => done)
    sweeper.start()
    await clock.advance(3_500)
    assert.deepEqual(slices, [1_000, 2_000, 3_000])
    await sweeper.stop()
  })

  test('continues at once while there is more to do', async () => {
    const { clock, sweeper, slices } = scene((slice) => ({ changed: 9, more: slice < 3 }))
    sweeper.start()
    await clock.advance(2_000)
    assert.deepEqual(slices, [1_000, 1_000, 1_000, 2_000])
    await sweeper.stop()
  })

  test('may pause for longer while there is nothing to do', async () => {
    const changes = [0, 1, 1]
    const sweep = (): SweepReport => ({ changed: changes.shift() ?? 0, more: false })
    const { clock, sweeper, slices } = scene(sweep, { idleMs: 60_000 })
    sweeper.start()
    await clock.advance(200_000)
    assert.deepEqual(slices, [60_000, 120_000, 121_000, 122_000, 182_000])
    await sweeper.stop()
  })

  test('may pause for longer and longer while nothing changes, up to the next change', async () => {
    let changesAt = 390_000
    const { clock, sweeper, slices } = scene(
      () => {
        const hasChanged = clock.now() >= changesAt
        if (hasChanged) changesAt = Number.POSITIVE_INFINITY
        return { changed: hasChanged ? 1 : 0, more: false }
      },
      {
        idleMs: 60_000,
        idleGrowth: 1,
        nextChangeInMs: async () => changesAt - clock.now(),
      },
    )
    sweeper.start()
    await clock.advance(500_000)
    // A change makes the pauses short again.
    assert.deepEqual(slices, [60_000, 120_000, 180_000, 300_000, 390_000, 391_000, 451_000])
    // So does a wake.
    sweeper.wake()
    await clock.advance(70_000)
    assert.deepEqual(slices.slice(-2), [500_000, 560_000])
    await sweeper.stop()
  })

  test('looks at once when it is woken, and is idle again after that', async () => {
    let left = 3
    const sweep = (): SweepReport => {
      left -= 1
      return { changed: 1, more: left > 0 }
    }
    const { clock, sweeper, slices } = scene(sweep)
    await sweeper.idle()
    sweeper.wake()
    sweeper.start()
    await sweeper.idle()
    assert.deepEqual(slices, [])
    sweeper.wake()
    await sweeper.idle()
    assert.deepEqual(slices, [0, 0, 0])
    await clock.advance(1_000)
    assert.deepEqual(slices, [0, 0, 0, 1_000])
    await sweeper.stop()
    assert.equal(clock.pendingTimers, 0)
  })

  test('runs once, however often it is started', async () => {
    const { clock, sweeper, slices } = scene(() => done)
    sweeper.start()
    sweeper.start()
    await clock.advance(1_000)
    assert.deepEqual(slices, [1_000])
    await sweeper.stop()
  })

  test('reports failures, waits longer after each, and recovers', async () => {
    const { clock, sweeper, slices, failures } = scene((slice) => {
      if (slice <= 3) throw broken
      return done
    })
    sweeper.start()
    await clock.advance(16_000)
    assert.deepEqual(slices, [1_000, 3_000, 7_000, 15_000, 16_000])
    assert.deepEqual(failures, [
      { error: broken, failures: 1, retryInMs: 2_000 },
      { error: broken, failures: 2, retryInMs: 4_000 },
      { error: broken, failures: 3, retryInMs: 8_000 },
    ])
    await sweeper.stop()
  })

  test('never waits longer than a minute', async () => {
    const { clock, sweeper, failures } = scene(() => {
      throw broken
    })
    sweeper.start()
    await clock.advance(600_000)
    assert.equal(failures.at(-1)?.retryInMs, 60_000)
    await sweeper.stop()
  })

  test('ends by itself when the store is closed', async () => {
    const error = new MillraceError('store_closed')
    const { clock, sweeper, slices, failures } = scene(() => {
      throw error
    })
    sweeper.start()
    await clock.advance(10_000)
    assert.deepEqual(slices, [1_000])
    assert.deepEqual(failures, [{ error, failures: 1, retryInMs: null }])
    await sweeper.stop()
  })
})

describe('stopping the sweeper', () => {
  test('leaves no timer behind', async () => {
    const { clock, sweeper, slices } = scene(() => done)
    sweeper.start()
    await clock.advance(1_500)
    await sweeper.stop()
    assert.equal(clock.pendingTimers, 0)
    await clock.advance(10_000)
    assert.deepEqual(slices, [1_000])
  })

  test('waits for the slice at hand, for every caller', async () => {
    const slice = Promise.withResolvers<SweepReport>()
    const { clock, sweeper } = scene(() => slice.promise)
    const order: string[] = []
    sweeper.start()
    await clock.advance(1_000)
    const stops = [sweeper.stop(), sweeper.stop()].map((stop) =>
      stop.then(() => order.push('stop')),
    )
    await clock.advance(1_000)
    order.push('slice')
    slice.resolve({ changed: 1, more: true })
    await Promise.all(stops)
    assert.deepEqual(order, ['slice', 'stop', 'stop'])
    assert.equal(clock.pendingTimers, 0)
  })

  test('does not pause once more after the slice at hand', async () => {
    const slice = Promise.withResolvers<SweepReport>()
    const { clock, sweeper } = scene(() => slice.promise)
    sweeper.start()
    await clock.advance(1_000)
    const stopped = sweeper.stop()
    slice.resolve(done)
    await stopped
    assert.equal(clock.pendingTimers, 0)
  })

  test('does nothing when it does not run', async () => {
    const { sweeper } = scene(() => done)
    await sweeper.stop()
  })

  test('does not prevent another start', async () => {
    const { clock, sweeper, slices } = scene(() => done)
    sweeper.start()
    await sweeper.stop()
    sweeper.start()
    await clock.advance(1_000)
    assert.deepEqual(slices, [1_000])
    await sweeper.stop()
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { seededIds, seededRandomness, VirtualClock, virtualPorts } from './virtual-clock.ts'

describe('the virtual clock', () => {
  test('moves by a duration as by milliseconds', async () => {
    const clock = new VirtualClock()
    const start = clock.now()
    await clock.advance('1h30m')
    clock.sleep('1m')
    clock.jumpWall({ seconds: 5 })
    assert.equal(clock.now() - start, 5_400_000 + 60_000 + 5_000)
  })

  test('stands still until it is advanced', async () => {
    const clock = new VirtualClock({ startAt: 5_000 })
    assert.deepEqual([clock.now(), clock.monotonic()], [5_000, 0])
    await clock.advance(250)
    assert.deepEqual([clock.now(), clock.monotonic()], [5_250, 250])
  })

  test('fires timers in the order in which they fall due, each at its own time', async () => {
    const clock = new VirtualClock({ startAt: 0 })
    const fired: string[] = []
    clock.after(30, () => fired.push(`late at ${clock.now()}`))
    clock.after(10, () => fired.push(`early at ${clock.now()}`))
    clock.after(10, () => fired.push(`early, armed second, at ${clock.now()}`))
    clock.after(31, () => fired.push('never'))
    await clock.advance(30)
    assert.deepEqual(fired, ['early at 10', 'early, armed second, at 10', 'late at 30'])
    assert.equal(clock.pendingTimers, 1)
  })

  test('fires a timer that another timer armed, when it falls into the same advance', async () => {
    const clock = new VirtualClock({ startAt: 0 })
    const fired: number[] = []
    const tick = (): void => {
      fired.push(clock.now())
      clock.after(10, tick)
    }
    clock.after(10, tick)
    await clock.advance(35)
    assert.deepEqual(fired, [10, 20, 30])
  })

  test('lets the work that a timer starts finish before time moves on', async () => {
    const clock = new VirtualClock({ startAt: 0 })
    const seen: number[] = []
    clock.after(10, () => {
      clock.soon(() => {
        void Promise.resolve().then(() => clock.soon(() => seen.push(clock.now())))
      })
    })
    await clock.advance(1_000)
    assert.deepEqual(seen, [10])
  })

  test('does not fire a cancelled timer', async () => {
    const clock = new VirtualClock()
    let fired = 0
    const cancel = clock.after(10, () => {
      fired += 1
    })
    cancel()
    cancel()
    await clock.advance(20)
    assert.deepEqual([fired, clock.pendingTimers], [0, 0])
  })

  test('moves wall time alone when the wall clock jumps, and timers do not notice', async () => {
    const clock = new VirtualClock({ startAt: 7_200_000 })
    let firedAt: number | undefined
    clock.after(100, () => {
      firedAt = clock.monotonic()
    })
    clock.jumpWall(-3_600_000)
    assert.deepEqual([clock.now(), clock.monotonic()], [3_600_000, 0])
    await clock.advance(100)
    assert.equal(firedAt, 100)
  })

  test('lets wall time and uptime pass while the machine sleeps, and timers stand still', async () => {
    const clock = new VirtualClock({ startAt: 0 })
    let fired = 0
    clock.after(100, () => {
      fired += 1
    })
    await clock.advance(50)
    clock.sleep(3_600_000)
    assert.deepEqual([clock.now(), clock.uptime().ms], [3_600_050, 3_600_050])
    assert.deepEqual([clock.monotonic(), fired], [50, 0])
    await clock.advance(50)
    assert.equal(fired, 1)
  })

  test('refuses to run backwards', async () => {
    await assert.rejects(new VirtualClock().advance(-1), RangeError)
    await assert.rejects(new VirtualClock().advance(Number.NaN), RangeError)
  })
})

describe('virtual ports', () => {
  test('give the same ids and the same chance for the same seed', () => {
    const take = (seed: number): unknown[] => {
      const { ids, randomness } = virtualPorts(seed)
      return [ids.next(), ids.next(), randomness.next(), randomness.next()]
    }
    assert.deepEqual(take(7), take(7))
    assert.notDeepEqual(take(7), take(8))
  })

  test('make random numbers from 0 up to, but not including, 1', () => {
    const randomness = seededRandomness(3)
    const numbers = Array.from({ length: 2_000 }, () => randomness.next())
    assert.ok(numbers.every((number) => number >= 0 && number < 1))
    const mean = numbers.reduce((sum, number) => sum + number, 0) / numbers.length
    assert.ok(mean > 0.45 && mean < 0.55, `mean ${mean}`)
  })

  test('make ids in the form of UUIDs, all different', () => {
    const ids = seededIds(1)
    const made = Array.from({ length: 500 }, () => ids.next())
    const form = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/
    assert.equal(new Set(made).size, 500)
    assert.ok(made.every((id) => form.test(id)))
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { ClockChange } from '../core/clock-change.ts'
import { VirtualClock } from '../testing/virtual-clock.ts'
import { believedAfterMs, StoreClock, type WrittenTime } from './store-clock.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

const nothingWritten: WrittenTime = { clock_ms: 0, wall_ms: 0, uptime_ms: 0, boot: null }

/** Processes of one machine that share a store, each with a clock of its own over it. */
function machine(clock = new VirtualClock()) {
  let written = nothingWritten
  const process = (own: VirtualClock = clock) => {
    const changes: [ClockChange['what'], number][] = []
    const storeClock = new StoreClock({
      clock: own,
      uptime: () => own.uptime(),
      onChange: ({ what, offsetMs }) => changes.push([what, offsetMs]),
    })
    return {
      changes,
      now: () => storeClock.now(written),
      wall: () => {
        storeClock.now(written)
        return storeClock.wallMs
      },
      commit: () => {
        const { now: clock_ms } = { now: storeClock.now(written) }
        const { wallMs: wall_ms, uptimeMs: uptime_ms, boot } = storeClock
        written = { clock_ms, wall_ms, uptime_ms, boot }
        return clock_ms
      },
    }
  }
  return { clock, process, start: clock.now() }
}

describe('the clock of a store', () => {
  test('follows small corrections at once, and store time never runs backwards', async () => {
    const { clock, process, start } = machine()
    const one = process()
    assert.equal(one.now(), start)
    clock.jumpWall(800)
    assert.deepEqual([one.now(), one.wall()], [start + 800, start + 800])
    clock.jumpWall(-800)
    assert.deepEqual([one.now(), one.wall()], [start + 800, start])
    await clock.advance(second)
    assert.deepEqual([one.now(), one.wall()], [start + 1_800, start + second])
    assert.deepEqual(one.changes, [])
  })

  test('keeps its pace while the wall clock is ahead, and says so once', async () => {
    const { clock, process, start } = machine()
    const one = process()
    one.commit()
    clock.jumpWall(5 * day)
    for (let passed = 1; passed <= 3; passed += 1) {
      await clock.advance(second)
      assert.deepEqual(
        [one.commit(), one.wall()],
        [start + passed * second, start + passed * second],
      )
    }
    clock.jumpWall(-5 * day)
    assert.equal(one.now(), start + 3 * second)
    assert.deepEqual(one.changes, [
      ['ahead', 5 * day],
      ['returned', 5 * day],
    ])
  })

  test('follows a jump that lasts, and counts anew from each further one', async () => {
    const { clock, process, start } = machine()
    const one = process()
    one.now()
    clock.jumpWall(hour)
    one.now()
    await clock.advance(believedAfterMs - 1)
    clock.jumpWall(hour)
    assert.equal(one.now(), start + believedAfterMs - 1)
    await clock.advance(believedAfterMs - 1)
    assert.equal(one.now(), start + 2 * believedAfterMs - 2)
    await clock.advance(1)
    assert.equal(one.now(), clock.now())
    assert.deepEqual(one.changes, [
      ['ahead', hour],
      ['ahead', 2 * hour],
      ['believed', 2 * hour],
    ])
  })

  test('continues at the same pace when a jump that it followed is taken back; wall time returns', async () => {
    const { clock, process, start } = machine()
    const one = process()
    one.now()
    clock.jumpWall(5 * day)
    one.now()
    await clock.advance(believedAfterMs)
    assert.equal(one.now(), start + 5 * day + believedAfterMs)
    clock.jumpWall(-5 * day)
    assert.equal(one.wall(), start + 5 * day + believedAfterMs)
    await clock.advance(believedAfterMs)
    assert.equal(one.wall(), clock.now())
    assert.equal(one.now(), start + 5 * day + 2 * believedAfterMs)
    assert.deepEqual(one.changes.slice(2), [
      ['behind', -5 * day],
      ['believed', -5 * day],
    ])
  })

  test('has all the time at once that the machine slept, and no more of a jump', () => {
    const { clock, process, start } = machine()
    const one = process()
    one.now()
    clock.sleep(8 * hour)
    assert.deepEqual([one.now(), one.changes], [start + 8 * hour, []])
    clock.sleep(hour)
    clock.jumpWall(5 * day)
    assert.deepEqual([one.now(), one.changes], [start + 9 * hour, [['ahead', 5 * day]]])
  })

  test('takes a sleep for one where the uptime is in whole seconds', async () => {
    const { clock, process, start } = machine()
    const { ms } = clock.uptime()
    clock.uptime = () => ({ boot: 'virtual', ms })
    const one = process()
    one.now()
    clock.uptime = () => ({ boot: 'virtual', ms: ms + 8 * hour - 1_200 })
    clock.sleep(8 * hour)
    assert.deepEqual([one.now(), one.changes], [start + 8 * hour, []])
  })
})

describe('a process that starts', () => {
  test('has the time that passed while no process had the store open', async () => {
    const { clock, process, start } = machine()
    process().commit()
    await clock.advance(minute)
    clock.sleep(3 * day)
    assert.deepEqual([process().now(), process().changes], [start + minute + 3 * day, []])
  })

  test('does not believe a wall clock that is ahead of the uptime of the machine', async () => {
    const { clock, process, start } = machine()
    process().commit()
    await clock.advance(minute)
    clock.jumpWall(5 * day)
    const late = process()
    assert.equal(late.commit(), start + minute)
    assert.equal(process().now(), start + minute)
    await clock.advance(believedAfterMs)
    assert.equal(late.now(), clock.now())
  })

  test('does so right after a commit, though an uptime is not exact', async () => {
    const { clock, process, start } = machine()
    await clock.advance(hour)
    process().commit()
    const rounded = new VirtualClock({ startAt: start + hour + 5 * day })
    rounded.uptime = () => ({ boot: 'virtual', ms: hour - 9 })
    assert.equal(process(rounded).now(), start + hour)
  })

  test('believes the wall clock after a reboot', () => {
    const { process, start } = machine()
    process().commit()
    const rebooted = new VirtualClock({ startAt: start + 9 * day })
    rebooted.uptime = () => ({ boot: 'another', ms: 9 * day })
    assert.equal(process(rebooted).now(), start + 9 * day)
  })

  test('does not trust an uptime that is shorter than the one written down', async () => {
    const { clock, process, start } = machine()
    await clock.advance(hour)
    process().commit()
    const other = new VirtualClock({ startAt: start + 2 * hour })
    assert.equal(process(other).now(), start + 2 * hour)
  })

  test('keeps the wall time of the store until a clock that is behind has stayed there', async () => {
    const { clock, process, start } = machine()
    process().commit()
    clock.jumpWall(-hour)
    const late = process()
    assert.deepEqual([late.now(), late.wall(), late.changes], [start, start, [['behind', -hour]]])
    await clock.advance(believedAfterMs)
    assert.deepEqual([late.now(), late.wall()], [start + believedAfterMs, clock.now()])
  })
})

describe('a process with a wrong wall clock', () => {
  test('does not move the time of the others', async () => {
    const { clock, process, start } = machine()
    const good = process()
    good.commit()
    // On the same machine: only wall time differs.
    const wrong = new VirtualClock({ startAt: start + 5 * day })
    const bad = process(wrong)
    bad.commit()
    await clock.advance(minute)
    await wrong.advance(minute)
    assert.equal(bad.commit(), start + minute)
    assert.equal(good.commit(), start + minute)
  })
})

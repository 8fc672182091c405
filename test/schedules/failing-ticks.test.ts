import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import type { Backend } from '../../src/backends/backend.ts'
import { defineApp } from '../../src/contracts/define-app.ts'
import { queue } from '../../src/contracts/queue-declaration.ts'
import { schedule, type TickFacts } from '../../src/contracts/schedule-declaration.ts'
import { MillraceError } from '../../src/core/millrace-error.ts'
import { openScene, type WorkerScene } from '../support/worker-scene.ts'

const minute = 60_000

interface Page {
  readonly page: number
}

/** An app whose first schedule makes its messages so, beside one that is in order. */
function appWith(payload: (tick: TickFacts) => Page | Promise<Page>, every: '1s' | '1m' = '1m') {
  return defineApp('reports', {
    queues: { reports: queue({ schema: z.object({ page: z.number() }) }), other: queue() },
    schedules: {
      broken: schedule({ every, send: { queue: 'reports' }, payload }),
      sound: schedule({ every: '1m', send: { queue: 'other' } }),
    },
  })
}

type Scene = WorkerScene<ReturnType<typeof appWith>>

function failures({ lines }: Scene): readonly (readonly unknown[])[] {
  return lines
    .filter(({ message }) => message === 'schedule tick failed')
    .map(({ level, fields }) => [level, fields['tries'], fields['retry_in_ms'], fields['error']])
}

describe('a payload function that throws', () => {
  const broken = appWith(() => {
    throw new Error('the list is gone')
  })

  test('is tried three times, then the tick is given up and the schedule continues', async () => {
    const scene = await openScene(broken)
    await scene.clock.advance(minute + 20_000)
    assert.deepEqual(failures(scene), [
      ['warn', 1, 1_000, 'the list is gone'],
      ['warn', 2, 5_000, 'the list is gone'],
      ['error', 3, null, 'the list is gone'],
    ])
    const { ticks, failed, lastError, nextAt } = await scene.mill.schedules.broken.read()
    assert.deepEqual([ticks, failed, lastError], [0, 1, 'the list is gone'])
    assert.equal(nextAt?.getTime(), scene.clock.now() - 20_000 + minute)
    await scene.clock.advance(minute)
    assert.equal((await scene.mill.schedules.broken.read()).failed, 2)
  })

  test('keeps no other schedule from ticking', async () => {
    const scene = await openScene(broken)
    await scene.clock.advance(3 * minute)
    assert.equal((await scene.mill.queues.other.statistics()).ready, 3)
    assert.equal((await scene.mill.queues.reports.statistics()).ready, 0)
  })

  test('may come right meanwhile', async () => {
    let calls = 0
    const scene = await openScene(
      appWith(() => {
        calls += 1
        if (calls < 3) throw new Error('not yet')
        return { page: calls }
      }),
    )
    await scene.clock.advance(minute + 20_000)
    const { ticks, failed } = await scene.mill.schedules.broken.read()
    assert.deepEqual([calls, ticks, failed], [3, 1, 0])
  })

  test('is given up though its next ticks are due already', async () => {
    const scene = await openScene(
      appWith(() => {
        throw new Error('never')
      }, '1s'),
    )
    await scene.clock.advance(30_000)
    const { failed, skipped } = await scene.mill.schedules.broken.read()
    assert.ok(failed >= 3, `given up ${failed} times`)
    assert.ok(skipped > 0)
  })
})

describe('a message that does not fit its contract', () => {
  test('is reported without being quoted, and nothing is sent', async () => {
    const scene = await openScene(appWith(() => ({ page: 'pa55word' as never })))
    await scene.clock.advance(minute + 20_000)
    const expected = 'message.page: got a string, expected number'
    assert.deepEqual(
      failures(scene).map(([, tries, , error]) => [tries, error]),
      [1, 2, 3].map((tries) => [tries, expected]),
    )
    assert.equal((await scene.mill.queues.reports.statistics()).ready, 0)
  })
})

describe('a payload function that never answers', () => {
  test('has failed after ten seconds, and holds up nobody', async () => {
    const scene = await openScene(appWith(() => new Promise(() => undefined)))
    await scene.clock.advance(minute + 9_000)
    assert.deepEqual(failures(scene), [])
    assert.equal((await scene.mill.queues.other.statistics()).ready, 1)
    await scene.clock.advance(2_000)
    assert.equal(failures(scene).length, 1)
    await scene.clock.advance(2 * minute)
    assert.equal((await scene.mill.queues.other.statistics()).ready, 3)
  })

  test('does not keep the app from closing', async () => {
    const scene = await openScene(appWith(() => new Promise(() => undefined)))
    await scene.clock.advance(minute + 1_000)
    await scene.mill.close()
    assert.equal(scene.clock.pendingTimers, 0)
    assert.deepEqual(failures(scene), [])
  })
})

describe('a queue that is gone', () => {
  test('costs the tick, like any message that cannot be sent', async () => {
    const scene = await openScene(appWith(() => ({ page: 1 })))
    await scene.backend.deleteQueue({ queue: scene.mill.queues.reports.name })
    await scene.clock.advance(minute + 20_000)
    assert.equal(failures(scene).length, 3)
    assert.equal((await scene.mill.schedules.broken.read()).failed, 1)
  })
})

describe('a store that fails for a while', () => {
  test('costs no tick', async () => {
    let isBroken = true
    const wrap = (backend: Backend): Backend => {
      assert.ok(backend.schedules !== null)
      const { schedules } = backend
      const tick: typeof schedules.tick = async (request) => {
        if (isBroken) throw new MillraceError('store_busy')
        return schedules.tick(request)
      }
      return { ...backend, schedules: { ...schedules, tick } }
    }
    const scene = await openScene(
      appWith(() => ({ page: 1 })),
      { wrap },
    )
    await scene.clock.advance(minute + 5_000)
    assert.deepEqual(failures(scene), [])
    assert.ok(scene.messages().includes('service failed'))
    isBroken = false
    await scene.clock.advance(minute)
    const { ticks, failed } = await scene.mill.schedules.broken.read()
    assert.deepEqual([ticks, failed], [2, 0])
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { CarrierDelivery } from '../../../src/backends/carriers/carrier.ts'
import { ChildProgram } from '../../support/child-program.ts'
import type { LeasedReport } from './receiver.child.ts'
import { eventually, message, queue, receive, receiveOne, scene, send } from './scene.ts'

describe('a receive from BullMQ', () => {
  test('returns nothing at its end if nothing is there', async () => {
    const { carrier } = await scene()
    const startedAt = performance.now()
    assert.deepEqual(await receive(carrier, { waitMs: 300 }), [])
    assert.ok(performance.now() - startedAt >= 290)
  })

  test('returns what is sent while it waits, long before it looks again', async () => {
    const { carrier } = await scene()
    const startedAt = performance.now()
    for (const body of ['1', '2', '3']) {
      const waiting = receiveOne(carrier)
      // It waits once it has found nothing.
      await carrier.levels({ queue })
      await send(carrier, body)
      assert.equal((await waiting).body, body)
    }
    assert.ok(performance.now() - startedAt < 4_000)
  })

  test('returns a job that becomes due while it waits, also to a later one', async () => {
    const { carrier } = await scene()
    const controller = new AbortController()
    const first = receive(carrier, { waitMs: 20_000, signal: controller.signal })
    const second = receive(carrier, { waitMs: 20_000 })
    const startedAt = performance.now()
    await send(carrier, message('late', { delayMs: 500 }))
    controller.abort()
    assert.deepEqual(await first, [])
    assert.equal((await second)[0]?.body, 'late')
    assert.ok(performance.now() - startedAt < 4_000)
  })

  test('takes nothing when it was aborted before', async () => {
    const { carrier } = await scene()
    await send(carrier, '1')
    assert.deepEqual(await receive(carrier, { signal: AbortSignal.abort() }), [])
    assert.equal((await receiveOne(carrier)).receiveCount, 1)
  })

  test('loses nothing and counts nothing when it is aborted at any time', async () => {
    const at = await scene()
    const bodies = Array.from({ length: 100 }, (_, index) => String(index))
    const taken: CarrierDelivery[] = []
    const rounds = bodies.map(async (body, index) => {
      const controller = new AbortController()
      const receiving = receive(at.carrier, { waitMs: 20_000, signal: controller.signal })
      for (let turns = index % 10; turns > 0; turns--) await new Promise(setImmediate)
      await send(at.carrier, body)
      for (let turns = Math.floor(index / 10); turns > 0; turns--) await new Promise(setImmediate)
      controller.abort()
      taken.push(...(await receiving))
    })
    await Promise.all(rounds)
    await eventually(async () => {
      taken.push(...(await receive(at.carrier, { waitMs: 100 })))
      assert.equal(taken.length, bodies.length)
    })
    assert.deepEqual(
      taken.map(({ body }) => body).toSorted((a, b) => Number(a) - Number(b)),
      bodies,
    )
    assert.ok(taken.every(({ receiveCount }) => receiveCount === 1))
  })

  test('hands the wake-up of an aborted one to another process', async () => {
    const at = await scene()
    const other = await scene({ connection: at.url, prefix: at.prefix })
    const controller = new AbortController()
    const aborted = receive(at.carrier, { waitMs: 20_000, signal: controller.signal })
    await at.carrier.levels({ queue })
    controller.abort()
    assert.deepEqual(await aborted, [])
    // The connection of the first one still waits, and removes the marker.
    const waiting = receiveOne(other.carrier)
    await other.carrier.levels({ queue })
    const startedAt = performance.now()
    await send(other.carrier, '1')
    assert.equal((await waiting).body, '1')
    assert.ok(performance.now() - startedAt < 4_000)
  })

  test('shares 1,000 messages among four receivers, each to one', async () => {
    const at = await scene()
    const receivers = [at, at, at, at].map(async (one, index) =>
      index === 0 ? one : scene({ connection: at.url, prefix: at.prefix }),
    )
    const bodies = Array.from({ length: 1_000 }, (_, index) => String(index))
    const seen: string[] = []
    const work = receivers.map(async (opening) => {
      const { carrier } = await opening
      while (seen.length < bodies.length) {
        const messages = await receive(carrier, { waitMs: 100 })
        seen.push(...messages.map(({ body }) => body))
        const removed = await carrier.remove({ queue, messages })
        assert.ok(removed.every((wasThere) => wasThere))
      }
    })
    await Promise.all([...work, send(at.carrier, ...bodies)])
    assert.deepEqual(
      seen.toSorted((a, b) => Number(a) - Number(b)),
      bodies,
    )
    const nothing = { ready: 0, leased: 0, delayed: 0, oldestSentAt: null }
    assert.deepEqual(await at.carrier.levels({ queue }), nothing)
  })

  test('leaves what was fetched ahead to others when it does not follow', async () => {
    const at = await scene()
    const other = await scene({ connection: at.url, prefix: at.prefix })
    const bodies = Array.from({ length: 20 }, (_, index) => String(index))
    await send(at.carrier, ...bodies)
    // Fast enough for jobs to be fetched ahead, and then it stops.
    for (const body of bodies.slice(0, 10)) {
      const delivery = await receiveOne(at.carrier)
      assert.equal(delivery.body, body)
      assert.deepEqual(await at.carrier.remove({ queue, messages: [delivery] }), [true])
    }
    const { ready, leased } = await at.carrier.levels({ queue })
    assert.deepEqual([ready, leased], [10, 0])
    const rest: CarrierDelivery[] = []
    await eventually(async () => {
      rest.push(...(await receive(other.carrier)))
      assert.equal(rest.length, 10)
    })
    assert.deepEqual(
      rest.map(({ body }) => body).toSorted((a, b) => Number(a) - Number(b)),
      bodies.slice(10),
    )
    assert.ok(rest.every(({ receiveCount }) => receiveCount === 1))
  })

  test('leaves nothing leased that was fetched ahead when its carrier closes', async () => {
    const at = await scene()
    const other = await scene({ connection: at.url, prefix: at.prefix })
    await send(at.carrier, ...Array.from({ length: 20 }, (_, index) => String(index)))
    for (let received = 0; received < 10; received++) {
      const delivery = await receiveOne(at.carrier)
      await at.carrier.remove({ queue, messages: [delivery] })
    }
    await at.carrier.close()
    const { ready, leased } = await other.carrier.levels({ queue })
    assert.deepEqual([ready, leased], [10, 0])
  })

  test('returns the jobs of a process that was killed', async () => {
    const at = await scene({ stalledInterval: 100 })
    await send(at.carrier, '1', '2')
    const { url, prefix } = at
    const child = new ChildProgram(new URL('receiver.child.ts', import.meta.url), { url, prefix })
    assert.deepEqual((await child.next<LeasedReport>('leased')).bodies, ['1', '2'])
    await child.kill()
    const received = [await receiveOne(at.carrier), await receiveOne(at.carrier)]
    assert.deepEqual(received.map(({ body, receiveCount }) => [body, receiveCount]).toSorted(), [
      ['1', 2],
      ['2', 2],
    ])
  })

  test('ends when the carrier is closed, and takes nothing', async () => {
    const at = await scene()
    const other = await scene({ connection: at.url, prefix: at.prefix })
    const waiting = receive(at.carrier, { waitMs: 60_000 })
    await other.carrier.levels({ queue })
    const closed = Promise.all([at.carrier.close(), at.carrier.close()])
    await send(other.carrier, '1')
    assert.deepEqual(await waiting, [])
    await closed
    assert.equal((await receiveOne(other.carrier)).receiveCount, 1)
    const closedError = { code: 'store_closed' }
    await assert.rejects(receive(at.carrier), closedError)
    await assert.rejects(send(at.carrier, '1'), closedError)
    await assert.rejects(at.carrier.remove({ queue, messages: [] }), closedError)
    await assert.rejects(at.carrier.levels({ queue }), closedError)
  })
})

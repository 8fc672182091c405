import assert from 'node:assert/strict'
import { Redis } from 'ioredis'
import { describe, onTestFinished, test } from 'vitest'
import type { CarrierDelivery } from '../../../src/backends/carriers/carrier.ts'
import { bullQueue, eventually, message, queue, receive, receiveOne, scene, send } from './scene.ts'

describe('a received job of BullMQ', () => {
  test('is completed with its result when it is removed', async () => {
    const at = await scene()
    const ids = await send(at.carrier, '{"a":1}', '{"a":2}', '{"a":3}')
    const handles = (await receiveAll(at.carrier, 3)).map(({ handle }) => handle)
    const [first = '', second = '', third = ''] = handles
    const messages = [
      { handle: first, result: '{"pages":3}' },
      { handle: second, result: 'no JSON' },
      { handle: third },
    ]
    assert.deepEqual(await at.carrier.remove({ queue, messages }), [true, true, true])
    const jobs = await Promise.all(ids.map((id) => bullQueue(at).getJob(id)))
    assert.deepEqual(
      jobs.map((job) => job?.returnvalue),
      [{ pages: 3 }, 'no JSON', null],
    )
    assert.deepEqual(await bullQueue(at).getJobCounts('completed', 'failed', 'active', 'wait'), {
      completed: 3,
      failed: 0,
      active: 0,
      wait: 0,
    })
    assert.deepEqual(await at.carrier.remove({ queue, messages }), [false, false, false])
  })

  test('fails finally when it is removed with an error', async () => {
    const at = await scene()
    const [id = ''] = await send(at.carrier, '{}')
    const { handle } = await receiveOne(at.carrier)
    const messages = [{ handle, error: 'boom\n  at line 1' }]
    assert.deepEqual(await at.carrier.remove({ queue, messages }), [true])
    const job = await bullQueue(at).getJob(id)
    assert.equal(await job?.getState(), 'failed')
    assert.equal(job?.failedReason, 'boom\n  at line 1')
    assert.deepEqual(job?.stacktrace, ['boom\n  at line 1'])
    assert.deepEqual(await receive(at.carrier), [])
  })

  test('is kept as the options and the job say', async () => {
    const at = await scene({ removeOnComplete: true, removeOnFail: { count: 1 } })
    const own = bullQueue(at)
    await own.addBulk([
      { name: 'kept', data: {}, opts: { removeOnComplete: false } },
      { name: 'gone', data: {} },
      { name: 'failed', data: {} },
      { name: 'failed too', data: {} },
    ])
    const [kept, gone, ...failed] = await receiveAll(at.carrier, 4)
    const ends = [{ handle: kept?.handle ?? '' }, { handle: gone?.handle ?? '' }]
    const failures = failed.map(({ handle }) => ({ handle, error: 'boom' }))
    await at.carrier.remove({ queue, messages: [...ends, ...failures] })
    const names = async (state: 'completed' | 'failed') =>
      (await own.getJobs([state])).map(({ name }) => name)
    assert.deepEqual(await names('completed'), ['kept'])
    assert.deepEqual(await names('failed'), ['failed too'])
  })

  test('is receivable at once, and uncounted, when it is released', async () => {
    const { carrier } = await scene()
    await send(carrier, '1', '2')
    for (let time = 0; time < 3; time++) {
      const { handle, body, receiveCount } = await receiveOne(carrier)
      assert.deepEqual([body, receiveCount], ['1', 1])
      assert.deepEqual(await carrier.release({ queue, messages: [{ handle, delayMs: 0 }] }), [true])
    }
  })

  test('is delayed, and counted if it failed', async () => {
    const at = await scene()
    const [id = ''] = await send(at.carrier, '1')
    const released = await receiveOne(at.carrier)
    await at.carrier.release({ queue, messages: [{ handle: released.handle, delayMs: 50 }] })
    const failed = await receiveOne(at.carrier)
    assert.equal(failed.receiveCount, 1)
    const messages = [{ handle: failed.handle, delayMs: 50, error: 'boom' }]
    assert.deepEqual(await at.carrier.release({ queue, messages }), [true])
    const job = await bullQueue(at).getJob(id)
    assert.deepEqual([job?.attemptsMade, job?.failedReason], [1, 'boom'])
    const again = await receiveOne(at.carrier)
    assert.equal(again.receiveCount, 2)
    const retried = [{ handle: again.handle, delayMs: 0, error: 'boom' }]
    assert.deepEqual(await at.carrier.release({ queue, messages: retried }), [true])
    assert.equal((await receiveOne(at.carrier)).receiveCount, 3)
  })

  test('stays leased while its lease is extended, and becomes ready after it', async () => {
    const { carrier } = await scene({ stalledInterval: 100 })
    await send(carrier, '1', '2')
    const [kept, left] = await receiveAll(carrier, 2, 400)
    const leases = [{ handle: kept?.handle ?? '', visibilityMs: 60_000 }]
    assert.deepEqual(await carrier.extend({ queue, leases }), [true])
    const again = await receiveOne(carrier)
    assert.deepEqual([again.body, again.receiveCount], ['2', 2])
    assert.deepEqual(await receive(carrier), [])
    const handle = left?.handle ?? ''
    const stale = { leases: [...leases, { handle, visibilityMs: 60_000 }] }
    assert.deepEqual(await carrier.extend({ queue, ...stale }), [true, false])
    assert.deepEqual(await carrier.remove({ queue, messages: [{ handle }] }), [false])
    const back = [
      { handle, delayMs: 0 },
      { handle, delayMs: 10 },
      { handle, delayMs: 0, error: '' },
    ]
    assert.deepEqual(await carrier.release({ queue, messages: back }), [false, false, false])
    assert.deepEqual(await carrier.remove({ queue, messages: [again] }), [true])
  })

  test('becomes ready when its lease is extended by nothing, and counts', async () => {
    const { carrier } = await scene()
    await send(carrier, '1')
    const { handle } = await receiveOne(carrier)
    assert.deepEqual(await carrier.extend({ queue, leases: [{ handle, visibilityMs: 0 }] }), [true])
    assert.equal((await receiveOne(carrier)).receiveCount, 2)
  })

  test('is not found by handles of others', async () => {
    const { carrier } = await scene()
    const handles = ['', '{}', '["1"]', '["1","token"]', 'null']
    const messages = handles.map((handle) => ({ handle, delayMs: 0 }))
    const nothing = handles.map(() => false)
    assert.deepEqual(await carrier.remove({ queue, messages }), nothing)
    assert.deepEqual(await carrier.release({ queue, messages }), nothing)
    const leases = handles.map((handle) => ({ handle, visibilityMs: 10 }))
    assert.deepEqual(await carrier.extend({ queue, leases }), nothing)
  })
})

describe('a queue of BullMQ', () => {
  test('has levels', async () => {
    const { carrier } = await scene()
    const nothing = { ready: 0, leased: 0, delayed: 0, oldestSentAt: null }
    assert.deepEqual(await carrier.levels({ queue }), nothing)
    const urgent = message('3', { systemAttributes: { 'millrace.priority': '1' } })
    await send(carrier, '1', '2', urgent, message('4', { delayMs: 60_000 }))
    const { sentAt } = await receiveOne(carrier)
    const { oldestSentAt, ...counts } = await carrier.levels({ queue })
    assert.deepEqual(counts, { ready: 2, leased: 1, delayed: 1 })
    assert.ok(oldestSentAt !== null && oldestSentAt >= sentAt)
  })

  test('is read in pages, without a change', async () => {
    const { carrier } = await scene()
    const urgent = message('ranked', { systemAttributes: { 'millrace.priority': '1' } })
    await send(carrier, '0', '1', '2', urgent, message('late', { delayMs: 60_000 }))
    await receiveOne(carrier)
    const before = await carrier.levels({ queue })
    const bodies: string[] = []
    let after: string | undefined
    do {
      const page = await carrier.peek({
        queue,
        state: 'ready',
        limit: 2,
        ...(after !== undefined && { after }),
      })
      bodies.push(...page.items.map(({ body }) => body))
      after = page.next
    } while (after !== undefined)
    assert.deepEqual(bodies, ['1', '2', 'ranked'])
    const [delayed] = (await carrier.peek({ queue, state: 'delayed', limit: 9 })).items
    assert.equal(delayed?.body, 'late')
    assert.ok(Math.abs((delayed?.dueAt ?? 0) - (delayed?.sentAt ?? 0) - 60_000) < 5)
    const [leased] = (await carrier.peek({ queue, state: 'leased', limit: 9 })).items
    assert.deepEqual([leased?.body, leased?.receiveCount, leased?.state], ['0', 1, 'leased'])
    assert.ok(Math.abs((leased?.dueAt ?? 0) - Date.now() - 30_000) < 10_000)
    assert.deepEqual(await carrier.levels({ queue }), before)
  })

  test('is purged of everything that has not ended', async () => {
    const at = await scene()
    await send(at.carrier, 'done', '1', '2', '3', message('4', { delayMs: 60_000 }))
    const done = await receiveOne(at.carrier)
    await at.carrier.remove({ queue, messages: [done] })
    const leased = await receiveOne(at.carrier)
    await at.carrier.purge({ queue })
    const nothing = { ready: 0, leased: 0, delayed: 0, oldestSentAt: null }
    assert.deepEqual(await at.carrier.levels({ queue }), nothing)
    assert.deepEqual(await at.carrier.remove({ queue, messages: [leased] }), [false])
    assert.equal(await bullQueue(at).getCompletedCount(), 1)
    await send(at.carrier, 'next')
    assert.equal((await receiveOne(at.carrier)).body, 'next')
  })

  test('is removed with everything in it, and can be created again', async () => {
    const at = await scene()
    await send(at.carrier, '1', '2', message('3', { delayMs: 60_000 }))
    await receiveOne(at.carrier)
    await at.carrier.removeQueue({ queue })
    const client = new Redis(at.url)
    onTestFinished(() => client.disconnect())
    // The keys of checks end by themselves.
    await eventually(async () => assert.deepEqual(await client.keys(`${at.prefix}:*`), []))
    await send(at.carrier, 'new')
    assert.equal((await receiveOne(at.carrier)).body, 'new')
  })
})

async function receiveAll(
  carrier: Parameters<typeof receive>[0],
  count: number,
  visibilityMs = 30_000,
): Promise<readonly CarrierDelivery[]> {
  const all: CarrierDelivery[] = []
  await eventually(async () => {
    all.push(...(await receive(carrier, { max: count - all.length, visibilityMs })))
    assert.equal(all.length, count)
  })
  return all
}

/** Moving a job that waits to another time. */
import assert from 'node:assert/strict'
import { limits } from '../../core/limits.ts'
import { lift, turnOn } from './gate-scene.ts'
import { attemptOutcomes, enqueue, jobsOf, readJob, runOnce } from './job-scene.ts'
import { day, hour, minute, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeRescheduling(all: ContractSuite): void {
  const suite = all.needing('trackedJobs')
  suite.describe('rescheduling', () => {
    describeWaiting(suite)
    describeLimits(suite)
    describeRefusals(suite)
    describeFifo(suite.needing('fifo'))
  })
}

async function isReceived(scene: Scene, id: string): Promise<boolean> {
  const deliveries = await scene.receive('q')
  return deliveries.some(({ job }) => job?.id === id)
}

function describeWaiting(suite: ContractSuite): void {
  suite.test('a job that is ready can wait for a time', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene)
    const { createdAt } = await readJob(scene, id)
    const job = await jobsOf(scene).reschedule({ id, runAt: createdAt + 40 * day })
    assert.deepEqual([job.status, job.runAt], ['pending', createdAt + 40 * day])
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 1 })
    await scene.advance(40 * day - second)
    assert.equal(await isReceived(scene, id), false)
    await scene.advance(second)
    assert.equal(await isReceived(scene, id), true)
  })

  suite.test('a delayed job can be due later, earlier, or now', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene, { delayMs: minute })
    await jobsOf(scene).reschedule({ id, delayMs: hour })
    await scene.advance(2 * minute)
    assert.equal(await isReceived(scene, id), false)
    await jobsOf(scene).reschedule({ id, delayMs: minute })
    await scene.advance(minute)
    assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
    await jobsOf(scene).reschedule({ id, delayMs: hour })
    const { runAt } = await jobsOf(scene).promote({ id })
    assert.equal(runAt, null)
    assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
    assert.equal(await isReceived(scene, id), true)
  })

  suite.test('a job that waits for its retry can be moved, with its attempts', async (scene) => {
    await scene.queue('q')
    const retry = { kind: 'retry', delayMs: hour, error: 'busy' } as const
    const { id } = await enqueue(scene, { maxAttempts: 3 })
    await runOnce(scene, retry)
    await jobsOf(scene).promote({ id })
    assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
    await runOnce(scene, retry)
    await jobsOf(scene).reschedule({ id, delayMs: day })
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 1 })
    await scene.advance(day)
    await runOnce(scene, { kind: 'acknowledge' })
    assert.deepEqual(await attemptOutcomes(scene, id), [
      [1, 'retried', 'busy'],
      [2, 'retried', 'busy'],
      [3, 'completed', null],
    ])
  })

  suite.test('a promoted job wakes a waiting receive', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene, { delayMs: 40 * day })
    const waiting = scene.receive('q', { waitMs: 20 * second })
    await jobsOf(scene).promote({ id })
    assert.deepEqual(
      (await waiting).map(({ job }) => job?.id),
      [id],
    )
  })

  suite.test('a job that is due earlier wakes a waiting receive in time', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene, { delayMs: 40 * day })
    const waiting = scene.receive('q', { waitMs: 20 * second })
    await jobsOf(scene).reschedule({ id, delayMs: 5 * second })
    await scene.advance(5 * second)
    assert.deepEqual(
      (await waiting).map(({ job }) => job?.id),
      [id],
    )
  })

  suite.test('a time in the past means now', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene, { delayMs: hour })
    await jobsOf(scene).reschedule({ id, runAt: 1 })
    assert.equal(await isReceived(scene, id), true)
  })

  suite.test('a job that is due already stays as it is when promoted', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene, { expiresAfterMs: hour })
    const before = await readJob(scene, id)
    await scene.advance(minute)
    assert.deepEqual(await jobsOf(scene).promote({ id }), before)
    assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
  })

  suite.test('it keeps its idempotency key', async (scene) => {
    await scene.queue('q')
    const idempotency = { key: 'k', lifetimeMs: day }
    const { id } = await enqueue(scene, { idempotency })
    await jobsOf(scene).reschedule({ id, delayMs: hour })
    assert.deepEqual(await enqueue(scene, { idempotency }), { status: 'duplicate', id })
    const coalesced = await enqueue(scene, { idempotency: { ...idempotency, coalesce: true } })
    assert.deepEqual(coalesced, { status: 'coalesced', id })
  })

  suite.needing('killSwitches').test('a job that a switch holds can be moved', async (scene) => {
    await scene.queue('q')
    await turnOn(scene, 'type', 'OCR')
    const { id } = await enqueue(scene)
    assert.equal(await isReceived(scene, id), false)
    await jobsOf(scene).promote({ id })
    assert.equal(await isReceived(scene, id), false)
    await jobsOf(scene).reschedule({ id, delayMs: hour })
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 1 })
    await lift(scene, 'type', 'OCR')
    assert.equal(await isReceived(scene, id), false)
    await scene.advance(hour)
    assert.equal(await isReceived(scene, id), true)
  })
}

function describeLimits(suite: ContractSuite): void {
  suite.test('the limit of a job counts from its new time', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene, { delayMs: minute, expiresAfterMs: minute })
    const { createdAt } = await readJob(scene, id)
    const later = await jobsOf(scene).reschedule({ id, delayMs: day })
    assert.equal(later.expiresAt, createdAt + day + minute)
    await scene.advance(hour)
    await scene.sweep()
    assert.equal((await readJob(scene, id)).status, 'pending')
    const now = await jobsOf(scene).promote({ id })
    assert.equal(now.expiresAt, createdAt + hour + minute)
    await scene.advance(minute)
    assert.equal((await readJob(scene, id)).status, 'failed')
  })

  suite.test('a late completion still counts after it', async (scene) => {
    await scene.queue('q', { visibilityMs: 10 * second })
    const { id } = await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    await scene.advance(11 * second)
    await jobsOf(scene).reschedule({ id, delayMs: day })
    assert.equal((await scene.acknowledge('q', receipt)).status, 'settled')
    assert.equal((await readJob(scene, id)).status, 'completed')
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
  })
}

function describeRefusals(suite: ContractSuite): void {
  suite.test('a job that is being run is left alone', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    await rejects(jobsOf(scene).reschedule({ id, delayMs: minute }), 'job_running')
    await rejects(jobsOf(scene).promote({ id }), 'job_running')
    assert.equal((await scene.acknowledge('q', receipt)).status, 'settled')
  })

  suite.test('a finished job cannot be moved', async (scene) => {
    await scene.queue('q')
    const done = await enqueue(scene)
    await runOnce(scene, { kind: 'acknowledge' })
    const expired = await enqueue(scene, { expiresAfterMs: minute })
    await scene.advance(minute)
    for (const { id } of [done, expired]) {
      await rejects(jobsOf(scene).reschedule({ id, delayMs: minute }), 'job_finished')
      await rejects(jobsOf(scene).promote({ id }), 'job_finished')
    }
  })

  suite.test('a job that never was is not found', async (scene) => {
    await scene.queue('q')
    const [message = ''] = await scene.send('q', 'no job')
    for (const id of [message, 'garbage', '']) {
      await rejects(jobsOf(scene).reschedule({ id, delayMs: minute }), 'job_not_found')
      await rejects(jobsOf(scene).promote({ id }), 'job_not_found')
    }
  })

  suite.test('a time that is none is refused, and nothing changes', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene, { delayMs: minute })
    const before = await readJob(scene, id)
    const tooFar = before.createdAt + limits.messageDelayMs.max + minute
    const flawed = [
      {},
      { delayMs: 1, runAt: before.createdAt },
      { delayMs: -1 },
      { delayMs: limits.messageDelayMs.max + 1 },
      { runAt: tooFar },
      { runAt: Number.NaN },
    ]
    for (const flaw of flawed) {
      await rejects(jobsOf(scene).reschedule({ id, ...flaw }), 'invalid_argument')
    }
    assert.deepEqual(await readJob(scene, id), before)
  })
}

function describeFifo(suite: ContractSuite): void {
  const job = (deduplicationId: string): { tenant: string; deduplicationId: string } => ({
    tenant: 'g',
    deduplicationId,
  })
  const enqueueIn = async (scene: Scene, deduplicationId: string): Promise<string> => {
    const jobs = [{ type: 'OCR', payload: '1', maxAttempts: 3, ...job(deduplicationId) }]
    const [enqueued] = await jobsOf(scene).enqueue({ queue: 'q.fifo', jobs })
    return enqueued?.id ?? ''
  }

  suite.test('a FIFO queue has no time for one job', async (scene) => {
    await scene.fifoQueue('q.fifo')
    const id = await enqueueIn(scene, 'one')
    await rejects(jobsOf(scene).reschedule({ id, delayMs: minute }), 'invalid_argument')
    assert.equal((await scene.receiveOne('q.fifo')).job?.id, id)
  })

  suite.test('its jobs can be promoted, in their order', async (scene) => {
    await scene.fifoQueue('q.fifo')
    const first = await enqueueIn(scene, 'one')
    const second = await enqueueIn(scene, 'two')
    const { receipt } = await scene.receiveOne('q.fifo')
    await scene.settle('q.fifo', receipt, { kind: 'retry', delayMs: hour, error: 'busy' })
    assert.deepEqual(await scene.receiveBodies('q.fifo'), [])
    await jobsOf(scene).promote({ id: first })
    const ids = (await scene.receive('q.fifo')).map(({ job: delivered }) => delivered?.id)
    assert.deepEqual(ids, [first, second])
  })

  suite.test('also out of the delay of the queue', async (scene) => {
    await scene.fifoQueue('q.fifo', { delayMs: minute, visibilityMs: hour })
    const first = await enqueueIn(scene, 'one')
    const second = await enqueueIn(scene, 'two')
    await jobsOf(scene).promote({ id: second })
    assert.equal((await scene.receiveOne('q.fifo')).job?.id, second)
    await scene.advance(minute)
    assert.equal((await scene.receive('q.fifo')).length, 1)
    assert.equal((await readJob(scene, first)).status, 'processing')
  })
}

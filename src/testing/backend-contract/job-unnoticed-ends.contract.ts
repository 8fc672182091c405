/**
 * A store may notice late that time has ended something: at a receive, or when it sweeps.
 * What it returns about a job must not depend on when that was. Nothing is swept in these tests unless
 * they say so.
 */
import assert from 'node:assert/strict'
import type { NewJob } from '../../backends/job-store.ts'
import { attemptOutcomes, enqueue, jobsOf, readJob, runOnce } from './job-scene.ts'
import { minute, only, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

const leaseMs = 10 * second
const lost = 'The lease ended before the attempt was settled.'
const lapsed = 'The lease ended before the attempt was settled.'

/** A job whose only attempt has lapsed a second ago; returns its id and its receipt. */
async function lapsedForGood(
  scene: Scene,
  options: Partial<NewJob> = {},
): Promise<{ id: string; receipt: string }> {
  const { id } = await enqueue(scene, { maxAttempts: 1, ...options })
  const { receipt } = await scene.receiveOne('q')
  await scene.advance(leaseMs + second)
  return { id, receipt }
}

export function describeUnnoticedJobEnds(all: ContractSuite): void {
  const suite = all.needing('trackedJobs')
  suite.describe('jobs that end unnoticed', () => {
    describeLapses(suite)
    describeExpiry(suite)
    describePurges(suite)
    describeTurns(suite)
  })
}

function describeLapses(suite: ContractSuite): void {
  suite.test('a lapsed attempt has ended when its lease did', async (scene) => {
    await scene.queue('q', { visibilityMs: leaseMs })
    const { id } = await enqueue(scene)
    await scene.receiveOne('q')
    await scene.advance(leaseMs + 5 * second)
    assert.equal((await readJob(scene, id)).status, 'pending')
    const { startedAt, endedAt, outcome } = only(await jobsOf(scene).attempts({ id }))
    assert.deepEqual([outcome, endedAt], ['lapsed', startedAt + leaseMs])
  })

  suite.test('a job has failed when its last lease lapsed', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 100, { visibilityMs: leaseMs })
    const { id } = await lapsedForGood(scene)
    const { status, error, startedAt, finishedAt } = await readJob(scene, id)
    assert.deepEqual([status, error], ['failed', lost])
    assert.equal(finishedAt, (startedAt ?? 0) + leaseMs)
    const { deadLetterOrigin: deadLetter } = only(await scene.peek(dead, 'ready'))
    assert.equal(deadLetter?.at, finishedAt)
  })

  suite
    .needing('exactFigures')
    .test('is counted as a dead letter from then on, with its age', async (scene) => {
      const dead = await scene.queueWithDeadLetters('q', 100, { visibilityMs: leaseMs })
      await enqueue(scene, { maxAttempts: 2 })
      await scene.receiveOne('q')
      await lapsedForGood(scene)
      await lapsedForGood(scene)
      assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
      assert.equal((await scene.statistics('q')).totals.deadLettered, 2)
      assert.deepEqual(await scene.counts(dead), { ready: 2, leased: 0, delayed: 0 })
      const before = await scene.statistics(dead)
      assert.equal(before.oldestReadyAgeMs, 2 * (leaseMs + second))
      await scene.sweep()
      assert.deepEqual(await scene.statistics(dead), before)
      assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
      assert.equal((await scene.statistics('q')).totals.deadLettered, 2)
      // There it is not a job, and a receiver may lose its lease.
      await scene.receiveOne(dead)
      await scene.advance(minute)
      assert.deepEqual(await scene.counts(dead), { ready: 2, leased: 0, delayed: 0 })
    })

  suite.test('is counted nowhere when there is no place for dead letters', async (scene) => {
    await scene.queue('q', { visibilityMs: leaseMs })
    await lapsedForGood(scene)
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
    assert.equal((await scene.statistics('q')).totals.deadLettered, 0)
  })

  suite.test('is listed by the status that it has', async (scene) => {
    await scene.queue('q', { visibilityMs: leaseMs })
    const { id } = await lapsedForGood(scene)
    const ids = async (status: 'processing' | 'failed'): Promise<string[]> => {
      const { items } = await jobsOf(scene).list({ queue: 'q', status, limit: 10 })
      return items.map((record) => record.id)
    }
    assert.deepEqual([await ids('processing'), await ids('failed')], [[], [id]])
  })

  suite.test('a failed job can be neither ended nor extended', async (scene) => {
    await scene.queueWithDeadLetters('q', 100, { visibilityMs: leaseMs })
    const { id, receipt } = await lapsedForGood(scene)
    assert.equal((await scene.extend('q', receipt, minute)).status, 'gone')
    const report = { queue: 'q', receipt, progress: 0.5 }
    assert.equal((await jobsOf(scene).reportProgress(report)).status, 'gone')
    const states = await scene.backend.leaseStates({ queue: 'q', receipts: [receipt] })
    assert.deepEqual(states, ['gone'])
    const late = { kind: 'acknowledge', result: '1' } as const
    assert.equal((await scene.settle('q', receipt, late)).status, 'gone')
    assert.equal((await readJob(scene, id)).error, lost)
  })

  suite.test('a job that has failed is not cancelled, and can be retried', async (scene) => {
    await scene.queue('q', { visibilityMs: leaseMs })
    const first = await lapsedForGood(scene)
    await rejects(jobsOf(scene).cancel({ id: first.id }), 'job_finished')
    const second = await lapsedForGood(scene)
    assert.equal((await jobsOf(scene).retry({ id: second.id })).status, 'created')
  })

  suite.test('who completes a job late has not lost the attempt', async (scene) => {
    await scene.queue('q', { visibilityMs: leaseMs })
    const { id } = await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    await scene.advance(leaseMs + second)
    await scene.sweep()
    const { status } = await scene.settle('q', receipt, { kind: 'acknowledge', result: '1' })
    assert.equal(status, 'settled')
    assert.deepEqual(await attemptOutcomes(scene, id), [[1, 'completed', null]])
  })
}

function describeExpiry(suite: ContractSuite): void {
  suite.test('a job that died before it expired is a dead letter', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 100, { visibilityMs: leaseMs })
    const { id } = await lapsedForGood(scene, { expiresAfterMs: minute })
    await scene.advance(minute)
    await scene.sweep()
    assert.equal((await readJob(scene, id)).error, lost)
    assert.equal((await scene.counts(dead)).ready, 1)
  })

  suite.test('an attempt that lapsed before that is remembered as lapsed', async (scene) => {
    await scene.queue('q', { visibilityMs: leaseMs })
    const { id } = await enqueue(scene, { expiresAfterMs: minute })
    await scene.receiveOne('q')
    await scene.advance(2 * minute)
    assert.deepEqual(await attemptOutcomes(scene, id), [[1, 'lapsed', lapsed]])
    const { status, createdAt, finishedAt } = await readJob(scene, id)
    assert.deepEqual([status, finishedAt], ['failed', createdAt + minute])
  })

  suite.test('a job that has expired is not completed', async (scene) => {
    await scene.queue('q', { visibilityMs: leaseMs })
    const { id } = await enqueue(scene, { expiresAfterMs: minute })
    const { receipt } = await scene.receiveOne('q')
    await scene.advance(minute)
    assert.equal((await scene.acknowledge('q', receipt)).status, 'gone')
    assert.equal((await readJob(scene, id)).status, 'failed')
  })

  suite.test('a job that has expired coalesces no other', async (scene) => {
    await scene.queue('q')
    const idempotency = { key: 'k', lifetimeMs: 10 * minute, coalesce: true }
    await enqueue(scene, { idempotency, expiresAfterMs: minute })
    await scene.advance(minute)
    assert.equal((await enqueue(scene, { idempotency })).status, 'created')
  })
}

function describePurges(suite: ContractSuite): void {
  suite.test('a job that was running when its queue was purged has its attempt', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene)
    await scene.receiveOne('q')
    await scene.backend.purgeQueue({ queue: 'q' })
    assert.deepEqual(await attemptOutcomes(scene, id), [[1, 'cancelled', null]])
    assert.notEqual((await readJob(scene, id)).finishedAt, null)
  })

  suite.test('a job that had failed when its queue was deleted is a dead letter', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 100, { visibilityMs: leaseMs })
    const { id } = await lapsedForGood(scene)
    await scene.backend.deleteQueue({ queue: 'q' })
    assert.equal((await readJob(scene, id)).status, 'failed')
    assert.equal((await scene.counts(dead)).ready, 1)
  })
}

function describeTurns(suite: ContractSuite): void {
  const gated = suite.needing('ceilings', 'reopen')
  gated.test('what has expired takes no tenant’s turn', async (scene) => {
    const none = {
      running: null,
      runningPerTenant: null,
      runningPerType: {},
      rate: null,
      perKey: [],
    }
    const ceilings = { ...none, runningPerTenant: 1 }
    await scene.queue('q', { ceilings })
    await enqueue(scene, { tenant: 'a', payload: '"a1"' })
    await enqueue(scene, { tenant: 'a', payload: '"a2"', expiresAfterMs: minute })
    // The second of the tenant is blocked from here on.
    await runOnce(scene, { kind: 'acknowledge' })
    await scene.advance(minute - second)
    await enqueue(scene, { tenant: 'a', payload: '"a3"' })
    await enqueue(scene, { tenant: 'b', payload: '"b1"' })
    await scene.advance(second)
    await scene.reopen()
    assert.deepEqual(await scene.receiveBodies('q', { max: 1 }), ['"a3"'])
  })
}

/** How long a job waits: for ever, unless it was given a limit. */
import assert from 'node:assert/strict'
import { limits } from '../../core/limits.ts'
import { ceilings, lift, turnOn } from './gate-scene.ts'
import { attemptOutcomes, enqueue, jobsOf, readJob, runOnce } from './job-scene.ts'
import { day, hour, minute, only, rejects, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

const expired = 'The job expired before it was done.'

export function describeJobExpiry(all: ContractSuite): void {
  const suite = all.needing('trackedJobs')
  suite.describe('how long a job waits', () => {
    describeForEver(suite)
    describeLimit(suite)
    describeRunning(suite)
    describeMixed(suite)
  })
}

function describeForEver(suite: ContractSuite): void {
  suite.test('a job outlives the retention of its queue', async (scene) => {
    await scene.queue('q', { retentionMs: minute })
    const ready = await enqueue(scene)
    const later = await enqueue(scene, { delayMs: limits.messageDelayMs.max })
    await scene.advance(40 * day)
    await scene.sweep()
    assert.equal((await readJob(scene, ready.id)).status, 'pending')
    assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 1 })
    assert.equal((await scene.receiveOne('q')).job?.id, ready.id)
    await scene.advance(limits.messageDelayMs.max)
    await scene.sweep()
    const ids = (await scene.receive('q')).map(({ job }) => job?.id)
    assert.deepEqual(ids.toSorted(), [ready.id, later.id].toSorted())
  })

  suite.test('also while it waits for its retry, and while it runs', async (scene) => {
    await scene.queue('q', { retentionMs: minute })
    const { id } = await enqueue(scene, { maxAttempts: 5 })
    await runOnce(scene, { kind: 'retry', delayMs: 12 * hour, error: 'busy' })
    const { runAt, status } = await readJob(scene, id)
    assert.deepEqual([status, typeof runAt], ['pending', 'number'])
    await scene.advance(12 * hour)
    await scene.sweep()
    const { receipt } = await scene.receiveOne('q', { visibilityMs: hour })
    await scene.advance(2 * minute)
    assert.equal((await scene.acknowledge('q', receipt)).status, 'settled')
    assert.equal((await readJob(scene, id)).status, 'completed')
  })

  suite.needing('killSwitches').test('a hold switch fails no waiting job', async (scene) => {
    await scene.queue('q', { retentionMs: minute })
    await turnOn(scene, 'type', 'OCR')
    const { id } = await enqueue(scene)
    assert.deepEqual(await scene.receiveBodies('q'), [])
    await scene.advance(40 * day)
    await scene.sweep()
    assert.equal((await readJob(scene, id)).status, 'pending')
    await lift(scene, 'type', 'OCR')
    assert.equal((await scene.receiveOne('q')).job?.id, id)
  })

  suite.needing('ceilings').test('nor does a ceiling', async (scene) => {
    await scene.queue('q', { retentionMs: minute, ...ceilings({ runningPerType: { OCR: 1 } }) })
    const first = await enqueue(scene)
    const second = await enqueue(scene)
    const { receipt } = await scene.receiveOne('q', { visibilityMs: 12 * hour })
    assert.deepEqual(await scene.receiveBodies('q'), [])
    await scene.advance(11 * hour)
    await scene.sweep()
    assert.equal((await readJob(scene, second.id)).status, 'pending')
    await scene.acknowledge('q', receipt)
    assert.equal((await readJob(scene, first.id)).status, 'completed')
    assert.equal((await scene.receiveOne('q')).job?.id, second.id)
  })

  suite.test('its dead letter is kept for the retention from its failure', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 100)
    await scene.backend.changeQueue({ queue: dead, changes: { retentionMs: minute } })
    const { id } = await enqueue(scene, { delayMs: 40 * day })
    await scene.advance(40 * day)
    await runOnce(scene, { kind: 'deadLetter', reason: 'broken' })
    await scene.advance(minute - second)
    await scene.sweep()
    assert.equal((await scene.counts(dead)).ready, 1)
    await scene.advance(second)
    assert.equal((await scene.counts(dead)).ready, 0)
    assert.equal((await readJob(scene, id)).status, 'failed')
  })
}

function describeLimit(suite: ContractSuite): void {
  suite.test('a job that still waits at its limit fails then', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene, { expiresAfterMs: hour })
    const { createdAt, expiresAt } = await readJob(scene, id)
    assert.equal(expiresAt, createdAt + hour)
    await scene.advance(hour - 1)
    await scene.sweep()
    assert.equal((await readJob(scene, id)).status, 'pending')
    await scene.advance(minute)
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
    assert.deepEqual(await scene.receiveBodies('q'), [])
    const job = await readJob(scene, id)
    assert.deepEqual([job.status, job.error], ['failed', expired])
    assert.deepEqual([job.finishedAt, job.expiresAt], [createdAt + hour, null])
    assert.equal((await scene.statistics('q')).totals.expired, 1)
  })

  suite.test('the limit counts from the end of its delay', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene, { delayMs: day, expiresAfterMs: minute })
    const { createdAt, runAt, expiresAt } = await readJob(scene, id)
    assert.deepEqual([runAt, expiresAt], [createdAt + day, createdAt + day + minute])
    await scene.advance(day + 30 * second)
    await scene.sweep()
    const due = await readJob(scene, id)
    assert.deepEqual([due.status, due.runAt], ['pending', null])
    await scene.advance(30 * second)
    assert.equal((await readJob(scene, id)).error, expired)
  })

  suite.test('a job that waits for its retry fails at its limit', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene, { expiresAfterMs: minute })
    await runOnce(scene, { kind: 'retry', delayMs: hour, error: 'busy' })
    await scene.advance(minute)
    const { status, error, createdAt, finishedAt } = await readJob(scene, id)
    assert.deepEqual([status, error, finishedAt], ['failed', expired, createdAt + minute])
    assert.deepEqual(await attemptOutcomes(scene, id), [[1, 'retried', 'busy']])
  })

  suite.needing('killSwitches').test('so does one that a switch holds', async (scene) => {
    await scene.queue('q')
    await turnOn(scene, 'type', 'OCR')
    const first = await enqueue(scene, { expiresAfterMs: minute })
    const other = await enqueue(scene)
    assert.deepEqual(await scene.receiveBodies('q'), [])
    await scene.advance(minute)
    assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
    await scene.sweep()
    assert.equal((await readJob(scene, first.id)).error, expired)
    assert.equal((await readJob(scene, other.id)).status, 'pending')
  })

  suite.test('the limit is that of a retried and of a redriven job', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 100)
    const { id } = await enqueue(scene, { expiresAfterMs: hour })
    await runOnce(scene, { kind: 'deadLetter', reason: 'broken' })
    await scene.advance(2 * hour)
    const again = await jobsOf(scene).retry({ id })
    const retried = await readJob(scene, again.id)
    assert.equal(retried.expiresAt, retried.createdAt + hour)
    await jobsOf(scene).cancel({ id: again.id })
    await scene.backend.startMoveTask({ source: dead })
    await scene.sweep()
    const delivery = await scene.receiveOne('q')
    const moved = await readJob(scene, delivery.job?.id ?? '')
    assert.equal(moved.expiresAt, moved.createdAt + hour)
  })

  suite.test('a limit outside its range is refused', async (scene) => {
    await scene.queue('q')
    for (const expiresAfterMs of [0, 999, limits.jobExpiryMs.max + 1, Number.NaN]) {
      await rejects(enqueue(scene, { expiresAfterMs }), 'invalid_argument')
    }
    assert.equal((await scene.counts('q')).ready, 0)
  })
}

function describeRunning(suite: ContractSuite): void {
  suite.test('a running attempt may finish after the limit', async (scene) => {
    await scene.queue('q', { visibilityMs: 2 * minute })
    const { id } = await enqueue(scene, { expiresAfterMs: minute })
    const { receipt } = await scene.receiveOne('q')
    await scene.advance(90 * second)
    await scene.sweep()
    assert.equal((await readJob(scene, id)).status, 'processing')
    assert.equal((await scene.extend('q', receipt, 2 * minute)).status, 'extended')
    await scene.advance(minute)
    assert.equal((await scene.acknowledge('q', receipt)).status, 'settled')
    assert.equal((await readJob(scene, id)).status, 'completed')
  })

  suite.test('but does not wait for another one', async (scene) => {
    const ends = [
      { kind: 'retry', delayMs: 0, error: 'busy' },
      { kind: 'retry', delayMs: minute, error: 'busy' },
      { kind: 'release' },
    ] as const
    await scene.queue('q', { visibilityMs: hour })
    for (const outcome of ends) {
      const { id } = await enqueue(scene, { expiresAfterMs: minute })
      const { receipt } = await scene.receiveOne('q')
      await scene.advance(2 * minute)
      assert.equal((await scene.settle('q', receipt, outcome)).status, 'settled')
      const { status, error, finishedAt, createdAt } = await readJob(scene, id)
      assert.deepEqual([status, error, finishedAt], ['failed', expired, createdAt + 2 * minute])
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
    }
    assert.equal((await scene.statistics('q')).totals.expired, ends.length)
  })

  suite.test('if its lease lapses after the limit, it has failed then', async (scene) => {
    await scene.queue('q', { visibilityMs: 2 * minute })
    const { id } = await enqueue(scene, { expiresAfterMs: minute })
    const { receipt } = await scene.receiveOne('q')
    await scene.advance(5 * minute)
    assert.equal((await scene.acknowledge('q', receipt)).status, 'gone')
    const { status, error, finishedAt, createdAt } = await readJob(scene, id)
    assert.deepEqual([status, error, finishedAt], ['failed', expired, createdAt + 2 * minute])
    const lapse = 'The lease ended before the attempt was settled.'
    assert.deepEqual(await attemptOutcomes(scene, id), [[1, 'lapsed', lapse]])
  })
}

function describeMixed(suite: ContractSuite): void {
  suite
    .needing('exactFigures')
    .test('plain messages expire before, between and behind jobs', async (scene) => {
      await scene.queue('q', { retentionMs: minute })
      await scene.send('q', 'before')
      const first = await enqueue(scene)
      await scene.send('q', 'between', 'large '.repeat(1_000))
      const second = await enqueue(scene, { expiresAfterMs: hour })
      await scene.send('q', 'behind')
      await scene.advance(minute)
      assert.deepEqual(await scene.counts('q'), { ready: 2, leased: 0, delayed: 0 })
      assert.equal((await scene.statistics('q')).totals.expired, 4)
      await scene.sweep()
      assert.deepEqual(await scene.counts('q'), { ready: 2, leased: 0, delayed: 0 })
      const { items } = await jobsOf(scene).list({ queue: 'q', status: 'pending', limit: 10 })
      assert.deepEqual(
        items.map(({ id }) => id),
        [second.id, first.id],
      )
      const ids = (await scene.receive('q')).map(({ job }) => job?.id)
      assert.deepEqual(ids, [first.id, second.id])
    })

  suite
    .needing('exactFigures')
    .test('a change of the retention counts for messages among jobs', async (scene) => {
      await scene.queue('q', { retentionMs: minute })
      await enqueue(scene)
      await scene.send('q', 'waits', { body: 'delayed', delayMs: 30 * second })
      await scene.backend.changeQueue({ queue: 'q', changes: { retentionMs: 5 * minute } })
      await scene.advance(4 * minute)
      assert.deepEqual(await scene.counts('q'), { ready: 3, leased: 0, delayed: 0 })
      const [, held] = await scene.receive('q', { max: 2, visibilityMs: hour })
      assert.equal(held?.body, 'waits')
      await scene.backend.changeQueue({ queue: 'q', changes: { retentionMs: minute } })
      assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 1, delayed: 0 })
      assert.equal((await scene.acknowledge('q', held?.receipt ?? '')).status, 'gone')
    })

  suite
    .needing('exactFigures')
    .test('dead letters of jobs and of messages expire in their own times', async (scene) => {
      const dead = await scene.queueWithDeadLetters('q', 1)
      await scene.backend.changeQueue({ queue: dead, changes: { retentionMs: 10 * minute } })
      await enqueue(scene, { payload: '"job"' })
      await scene.send('q', 'plain')
      await scene.advance(9 * minute)
      const [job, plain] = await scene.receive('q')
      // The message is first among the dead letters, but its place is behind the job.
      for (const delivery of [plain, job]) {
        const outcome = { kind: 'deadLetter', reason: 'broken' } as const
        await scene.settle('q', delivery?.receipt ?? '', outcome)
      }
      await scene.advance(minute)
      assert.equal((await scene.counts(dead)).ready, 1)
      await scene.sweep()
      assert.deepEqual(await scene.peekBodies(dead, 'ready'), ['"job"'])
      await scene.advance(9 * minute)
      assert.equal((await scene.counts(dead)).ready, 0)
    })

  suite.needing('killSwitches').test('also where a switch holds them', async (scene) => {
    await scene.queue('q', { retentionMs: minute })
    await turnOn(scene, 'tenant', 'x')
    const { id } = await enqueue(scene, { tenant: 'x' })
    await scene.send('q', { body: 'plain', group: 'x' })
    assert.deepEqual(await scene.receiveBodies('q'), [])
    assert.equal((await scene.peek('q', 'ready')).length, 2)
    await scene.advance(minute)
    assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
    await scene.sweep()
    assert.equal(only(await scene.peek('q', 'ready')).id, id)
  })
}

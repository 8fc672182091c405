import assert from 'node:assert/strict'
import { attemptOutcomes, enqueue, jobsOf, readJob, runOnce } from './job-scene.ts'
import { day, hour, minute, only, type Scene } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeJobHistory(all: ContractSuite): void {
  const suite = all.needing('trackedJobs')
  suite.describe('the history of jobs', () => {
    describeLifetimes(suite)
    describeWhatGoes(suite)
  })
}

async function exists(scene: Scene, id: string): Promise<boolean> {
  await scene.sweep()
  return (await jobsOf(scene).read({ id })) !== undefined
}

async function finish(scene: Scene, how: 'completed' | 'failed' | 'cancelled'): Promise<string> {
  const { id } = await enqueue(scene)
  if (how === 'cancelled') await jobsOf(scene).cancel({ id })
  else if (how === 'failed') await runOnce(scene, { kind: 'deadLetter', reason: 'broken' })
  else await runOnce(scene, { kind: 'acknowledge' })
  assert.equal((await readJob(scene, id)).status, how)
  return id
}

function describeLifetimes(suite: ContractSuite): void {
  suite.test('each way to end has its own lifetime', async (scene) => {
    await scene.queue('q', { history: { completedMs: hour, failedMs: day } })
    const completed = await finish(scene, 'completed')
    const failed = await finish(scene, 'failed')
    const cancelled = await finish(scene, 'cancelled')
    await scene.advance(hour - minute)
    assert.equal(await exists(scene, completed), true)
    await scene.advance(minute)
    assert.equal(await exists(scene, completed), false)
    assert.deepEqual([await exists(scene, failed), await exists(scene, cancelled)], [true, true])
    await scene.advance(day)
    assert.deepEqual([await exists(scene, failed), await exists(scene, cancelled)], [false, false])
  })

  suite.test('it counts from the end of the job', async (scene) => {
    await scene.queue('q', { history: { completedMs: hour, failedMs: hour } })
    const { id } = await enqueue(scene)
    await scene.advance(2 * hour)
    await runOnce(scene, { kind: 'acknowledge' })
    assert.equal(await exists(scene, id), true)
    await scene.advance(hour)
    assert.equal(await exists(scene, id), false)
  })

  suite.test('a job that has not finished is never forgotten', async (scene) => {
    await scene.queue('q', { history: { completedMs: minute, failedMs: minute } })
    const { id } = await enqueue(scene)
    await runOnce(scene, { kind: 'retry', delayMs: 0, error: 'busy' })
    await scene.advance(day)
    assert.equal(await exists(scene, id), true)
    assert.deepEqual(await attemptOutcomes(scene, id), [[1, 'retried', 'busy']])
  })

  suite.test('a queue may remember for ever', async (scene) => {
    await scene.queue('q', { history: { completedMs: null, failedMs: null } })
    const ids = [await finish(scene, 'completed'), await finish(scene, 'failed')]
    await scene.advance(1_000 * day)
    for (const id of ids) assert.equal(await exists(scene, id), true)
  })

  suite.test(
    'by default a month, and three for failures; so also when the queue is gone',
    async (scene) => {
      await scene.queue('q')
      const [completed, failed] = [await finish(scene, 'completed'), await finish(scene, 'failed')]
      await scene.backend.deleteQueue({ queue: 'q' })
      await scene.advance(30 * day - minute)
      assert.equal(await exists(scene, completed), true)
      await scene.advance(minute)
      assert.deepEqual([await exists(scene, completed), await exists(scene, failed)], [false, true])
      await scene.advance(60 * day)
      assert.equal(await exists(scene, failed), false)
    },
  )

  suite.test('a lifetime can be changed afterwards', async (scene) => {
    await scene.queue('q')
    const id = await finish(scene, 'completed')
    await scene.advance(day)
    assert.equal(await exists(scene, id), true)
    const history = { completedMs: hour, failedMs: hour }
    await scene.backend.changeQueue({ queue: 'q', changes: { history } })
    assert.equal(await exists(scene, id), false)
  })
}

function describeWhatGoes(suite: ContractSuite): void {
  suite.test('attempts and progress go with their job', async (scene) => {
    await scene.queue('q', { history: { completedMs: minute, failedMs: minute } })
    const { id } = await enqueue(scene)
    await runOnce(scene, { kind: 'retry', delayMs: 0, error: 'busy' })
    const { receipt } = await scene.receiveOne('q')
    await jobsOf(scene).reportProgress({ queue: 'q', receipt, progress: 0.5 })
    await scene.settle('q', receipt, { kind: 'deadLetter', reason: 'broken' })
    assert.deepEqual(
      [(await attemptOutcomes(scene, id)).length, (await readJob(scene, id)).progress],
      [2, 0.5],
    )
    await scene.advance(hour)
    assert.equal(await exists(scene, id), false)
    assert.deepEqual(await attemptOutcomes(scene, id), [])
    assert.deepEqual((await jobsOf(scene).list({ queue: 'q', limit: 10 })).items, [])
  })

  suite.test('an idempotency key lives on', async (scene) => {
    await scene.queue('q', { history: { completedMs: minute, failedMs: minute } })
    const idempotency = { key: 'k', lifetimeMs: day }
    const { id } = await enqueue(scene, { idempotency })
    await runOnce(scene, { kind: 'acknowledge' })
    await scene.advance(hour)
    assert.equal(await exists(scene, id), false)
    assert.deepEqual(await enqueue(scene, { idempotency }), { status: 'duplicate', id })
  })

  suite.test('thousands go in one sweep, and what is not due stays', async (scene) => {
    await scene.queue('q', { history: { completedMs: minute, failedMs: null } })
    for (let round = 0; round < 3; round += 1) {
      const jobs = Array.from({ length: 1_000 }, () => ({
        type: 'OCR',
        payload: '1',
        maxAttempts: 1,
      }))
      await jobsOf(scene).enqueue({ queue: 'q', jobs })
      const deliveries = await scene.receive('q', { max: 1_000 })
      const settlements = deliveries.map(({ receipt }, index) => ({
        receipt,
        outcome:
          index === 500
            ? ({ kind: 'deadLetter', reason: 'broken' } as const)
            : ({ kind: 'acknowledge' } as const),
      }))
      await scene.backend.settle({ queue: 'q', settlements })
    }
    await scene.advance(hour)
    await scene.sweep()
    const { items, next } = await jobsOf(scene).list({ queue: 'q', limit: 10 })
    assert.deepEqual(
      [items.map(({ status }) => status), next],
      [['failed', 'failed', 'failed'], undefined],
    )
  })

  suite.test('a waiting job that a move task takes along ends, and is a new one', async (scene) => {
    const dead = await scene.queueWithDeadLetters('q', 5)
    await scene.queue('other')
    const jobs = [{ type: 'OCR', payload: '1', maxAttempts: 3 }]
    const { id } = only(await jobsOf(scene).enqueue({ queue: dead, jobs }))
    await scene.backend.startMoveTask({ source: dead, destination: 'other' })
    await scene.sweep()
    assert.equal((await readJob(scene, id)).status, 'cancelled')
    const { job } = await scene.receiveOne('other')
    assert.equal((await readJob(scene, job?.id ?? '')).retryOf, id)
  })
}

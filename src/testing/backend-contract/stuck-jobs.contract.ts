import assert from 'node:assert/strict'
import type { FindStuck, StuckJob } from '../../backends/job-store.ts'
import { ceilings, lift, turnOn } from './gate-scene.ts'
import { enqueue, jobsOf, ocrJob } from './job-scene.ts'
import { hour, minute, only, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeStuckJobs(all: ContractSuite): void {
  const suite = all.needing('trackedJobs')
  suite.describe('jobs that wait for too long', () => {
    describeWaiting(suite)
    describeHeld(suite.needing('killSwitches', 'ceilings'))
  })
  suite.describe('jobs that run for too long', () => describeRunning(suite))
}

function look(scene: Scene, changes: Partial<FindStuck> = {}): Promise<readonly StuckJob[]> {
  const request = { queue: 'q', status: 'pending', olderThanMs: hour, limit: 10 } as const
  return jobsOf(scene).stuck({ ...request, ...changes })
}

async function ids(scene: Scene, changes: Partial<FindStuck> = {}): Promise<readonly string[]> {
  return (await look(scene, changes)).map(({ id }) => id)
}

function describeWaiting(suite: ContractSuite): void {
  suite.test('are found when they were not taken for too long', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene, { type: 'OMR' })
    await scene.advance(hour - second)
    assert.deepEqual(await ids(scene), [])
    await scene.advance(second)
    const { id: found, type, since } = only(await look(scene))
    assert.deepEqual([found, type], [id, 'OMR'])
    assert.equal(since, (await jobsOf(scene).read({ id }))?.createdAt)
    assert.deepEqual(await ids(scene, { olderThanMs: 2 * hour }), [])
  })

  suite.test('are found oldest first, and no more than asked for', async (scene) => {
    await scene.queue('q')
    const first = await enqueue(scene)
    await scene.advance(minute)
    const second_ = await enqueue(scene)
    await enqueue(scene, { delayMs: 10 * minute })
    await scene.advance(hour)
    assert.deepEqual(await ids(scene), [first.id, second_.id])
    assert.deepEqual(await ids(scene, { limit: 1 }), [first.id])
  })

  suite.test('count from the end of a delay', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene, { delayMs: 10 * minute })
    await scene.advance(hour + 9 * minute)
    assert.deepEqual(await ids(scene), [])
    await scene.advance(minute)
    await scene.sweep()
    assert.deepEqual(await ids(scene), [id])
  })

  suite.test('count from the end of an attempt that was lost', async (scene) => {
    await scene.queue('q', { visibilityMs: minute })
    const { id } = await enqueue(scene)
    await scene.advance(50 * minute)
    await scene.receiveOne('q')
    await scene.advance(20 * minute)
    await scene.sweep()
    assert.deepEqual(await ids(scene), [])
    await scene.advance(41 * minute)
    assert.deepEqual(await ids(scene), [id])
  })

  suite.test('are not those that run, wait for a retry, or have ended', async (scene) => {
    await scene.queue('q', { visibilityMs: 4 * hour })
    for (const outcome of [
      undefined,
      { kind: 'retry', delayMs: 4 * hour },
      { kind: 'acknowledge' },
    ] as const) {
      await enqueue(scene)
      const { receipt } = await scene.receiveOne('q')
      if (outcome !== undefined) await scene.settle('q', receipt, outcome)
    }
    await scene.send('q', 'no job at all')
    await scene.advance(2 * hour)
    assert.deepEqual(await ids(scene), [])
  })

  suite.needing('fifo').test('are not those behind one of their group', async (scene) => {
    await scene.fifoQueue('q.fifo', { visibilityMs: 4 * hour })
    const jobs = ['one', 'two'].map((name) => ({ ...ocrJob, tenant: 'g', deduplicationId: name }))
    await jobsOf(scene).enqueue({ queue: 'q.fifo', jobs })
    await scene.advance(2 * hour)
    assert.equal((await ids(scene, { queue: 'q.fifo' })).length, 2)
    await scene.receiveOne('q.fifo')
    assert.deepEqual(await ids(scene, { queue: 'q.fifo' }), [])
  })

  suite.test(
    'are not looked for in a queue that does not exist, or without sense',
    async (scene) => {
      await rejects(look(scene, { queue: 'nowhere' }), 'queue_not_found')
      await scene.queue('q')
      await rejects(look(scene, { olderThanMs: 0 }), 'invalid_argument')
      await rejects(look(scene, { limit: 0 }), 'invalid_argument')
      // @ts-expect-error a job cannot be stuck in this status
      await rejects(look(scene, { status: 'completed' }), 'invalid_argument')
    },
  )
}

function describeHeld(suite: ContractSuite): void {
  suite.test('are not those that a kill switch holds', async (scene) => {
    await scene.queue('q')
    await enqueue(scene, { type: 'OCR' })
    const { id } = await enqueue(scene, { type: 'OMR' })
    await scene.advance(2 * hour)
    await turnOn(scene, 'type', 'OCR')
    assert.deepEqual(await ids(scene), [id])
    await turnOn(scene, 'queue', 'q')
    assert.deepEqual(await ids(scene), [])
  })

  suite.test('are not those that the environment of the caller holds', async (scene) => {
    await scene.queue('q', { obeys: { queue: ['ALL_PAUSED'], types: {} } })
    await enqueue(scene)
    await scene.advance(2 * hour)
    assert.deepEqual(await ids(scene, { heldNames: ['ALL_PAUSED'] }), [])
    assert.equal((await ids(scene)).length, 1)
  })

  suite.test('are blocked jobs that could have run for so long', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene)
    await turnOn(scene, 'type', 'OCR')
    assert.deepEqual(await scene.receive('q'), [])
    await scene.advance(3 * hour)
    await lift(scene, 'type', 'OCR')
    // It could not have been taken before.
    assert.deepEqual(await ids(scene), [])
    await scene.advance(hour)
    assert.deepEqual(await ids(scene), [id])
  })

  suite.test('are not those that wait for room under a ceiling', async (scene) => {
    await scene.queue('q', { visibilityMs: 4 * hour, ...ceilings({ running: 1 }) })
    await enqueue(scene)
    const { id } = await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    await scene.advance(2 * hour)
    assert.deepEqual(await ids(scene), [])
    await scene.acknowledge('q', receipt)
    assert.deepEqual(await ids(scene), [id])
  })

  suite.test(
    'are not those whose type or tenant has running work under a ceiling',
    async (scene) => {
      await scene.queue('q', {
        visibilityMs: 4 * hour,
        ...ceilings({ runningPerType: { OCR: 2 }, runningPerTenant: 2 }),
      })
      await enqueue(scene, { type: 'OCR', tenant: 'x' })
      await scene.receiveOne('q')
      await enqueue(scene, { type: 'OCR', tenant: 'y' })
      await enqueue(scene, { type: 'OMR', tenant: 'x' })
      const { id } = await enqueue(scene, { type: 'OMR', tenant: 'y' })
      await scene.advance(2 * hour)
      assert.deepEqual(await ids(scene), [id])
    },
  )

  suite.test('are not those that wait for the rate', async (scene) => {
    await scene.queue('q', ceilings({ rate: { max: 1, perMs: 12 * hour } }))
    await enqueue(scene)
    await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    await scene.acknowledge('q', receipt)
    await scene.advance(2 * hour)
    assert.deepEqual(await ids(scene), [])
    await scene.advance(12 * hour)
    assert.equal((await ids(scene)).length, 1)
  })
}

function describeRunning(suite: ContractSuite): void {
  const processing = { status: 'processing', olderThanMs: 6 * hour } as const

  suite.test('are found though their lease is renewed', async (scene) => {
    await scene.queue('q', { visibilityMs: hour })
    const { id } = await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    for (let hours = 0; hours < 5; hours += 1) {
      await scene.advance(hour - second)
      assert.equal((await scene.extend('q', receipt, hour)).status, 'extended')
    }
    assert.deepEqual(await ids(scene, processing), [])
    await scene.advance(hour - second)
    await scene.extend('q', receipt, hour)
    await scene.advance(6 * second)
    const { id: found, since } = only(await look(scene, processing))
    assert.equal(found, id)
    assert.equal(since, (await jobsOf(scene).read({ id }))?.startedAt)
  })

  suite.test('are not those whose lease has lapsed, or that wait for a retry', async (scene) => {
    await scene.queue('q', { visibilityMs: 12 * hour })
    await enqueue(scene)
    const { receipt } = await scene.receiveOne('q')
    await scene.settle('q', receipt, { kind: 'retry', delayMs: 12 * hour })
    await scene.queue('lapsed', { visibilityMs: hour })
    await jobsOf(scene).enqueue({ queue: 'lapsed', jobs: [ocrJob] })
    await scene.receiveOne('lapsed')
    await scene.advance(7 * hour)
    assert.deepEqual(await ids(scene, processing), [])
    assert.deepEqual(await ids(scene, { ...processing, queue: 'lapsed' }), [])
  })
}

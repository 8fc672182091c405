import assert from 'node:assert/strict'
import type { EnqueuedJob, NewJob } from '../../backends/job-store.ts'
import { ceilings, drain } from './gate-scene.ts'
import { enqueue, jobsOf, ocrJob, readJob, runOnce } from './job-scene.ts'
import { hour, minute, only, rejects, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeJobWindows(all: ContractSuite): void {
  const suite = all.needing('trackedJobs')
  suite.describe('jobs of one key within a window', () => {
    describeThrottle(suite)
    describeDebounce(suite)
    describeReplacing(suite)
    describeKeys(suite)
  })
}

const day = 24 * hour
const throttle = { key: 'k', windowMs: minute }
const debounce = { key: 'k', windowMs: 10 * second }

function page(number: number): string {
  return JSON.stringify({ page: number })
}

function describeThrottle(suite: ContractSuite): void {
  suite.test('a throttle returns the first job, whatever the payload', async (scene) => {
    await scene.queue('q')
    const { id, status } = await enqueue(scene, { throttle, payload: page(1) })
    assert.equal(status, 'created')
    const later = { throttle, payload: page(2) }
    assert.deepEqual(await enqueue(scene, later), { status: 'coalesced', id })
    assert.equal((await readJob(scene, id)).payload, page(1))
    assert.equal((await scene.counts('q')).ready, 1)
  })

  suite.test('its window is that of the first job, whatever became of the job', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene, { throttle })
    await runOnce(scene, { kind: 'acknowledge' })
    await scene.advance(minute - 1)
    const longer = { key: 'k', windowMs: hour }
    assert.deepEqual(await enqueue(scene, { throttle: longer }), { status: 'coalesced', id })
    await scene.advance(1)
    const next = await enqueue(scene, { throttle: longer })
    assert.equal(next.status, 'created')
    await jobsOf(scene).cancel({ id: next.id })
    await scene.advance(minute)
    assert.deepEqual(await enqueue(scene, { throttle }), { status: 'coalesced', id: next.id })
  })

  suite.test('fifty calls at once create one job', async (scene) => {
    await scene.queue('q')
    const calls = Array.from({ length: 50 }, (_, index) =>
      enqueue(scene, { throttle, payload: page(index) }),
    )
    const answers = await Promise.all(calls)
    assert.equal(answers.filter(({ status }) => status === 'created').length, 1)
    assert.equal(new Set(answers.map(({ id }) => id)).size, 1)
    assert.equal((await scene.counts('q')).ready, 1)
  })
}

function describeDebounce(suite: ContractSuite): void {
  suite.test('a debounced job waits until its window passes without a call', async (scene) => {
    await scene.queue('q')
    const { id, status } = await enqueue(scene, { debounce, payload: page(1) })
    assert.equal(status, 'created')
    for (const number of [2, 3]) {
      await scene.advance(9 * second)
      const answer = await enqueue(scene, { debounce, payload: page(number) })
      assert.deepEqual(answer, { status: 'coalesced', id })
    }
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 1 })
    await scene.advance(10 * second - 1)
    assert.deepEqual(await scene.receive('q'), [])
    await scene.advance(1)
    const delivery = await scene.receiveOne('q')
    assert.deepEqual([delivery.job?.id, delivery.body], [id, page(3)])
  })

  suite.test('it waits no longer than its longest wait after the first call', async (scene) => {
    await scene.queue('q')
    const bounded = { ...debounce, maxWaitMs: 25 * second }
    const { id } = await enqueue(scene, { debounce: bounded })
    for (const number of [2, 3]) {
      await scene.advance(9 * second)
      await enqueue(scene, { debounce: bounded, payload: page(number) })
    }
    await scene.advance(7 * second - 1)
    assert.deepEqual(await scene.receive('q'), [])
    await scene.advance(1)
    assert.equal((await scene.counts('q')).ready, 1)
    const late = await enqueue(scene, { debounce: bounded, payload: page(4) })
    assert.deepEqual(late, { status: 'coalesced', id })
    assert.equal((await scene.receiveOne('q')).body, page(4))
  })

  suite.test('a job whose wait is over and that has not started waits again', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene, { debounce })
    await scene.advance(minute)
    assert.deepEqual(await enqueue(scene, { debounce }), { status: 'coalesced', id })
    assert.deepEqual(await scene.receive('q'), [])
    await scene.advance(10 * second)
    assert.equal((await scene.receiveOne('q')).job?.id, id)
  })

  suite.test(
    'a job that has started is not changed, and the next call is a new one',
    async (scene) => {
      await scene.queue('q')
      const { id } = await enqueue(scene, { debounce, payload: page(1) })
      await scene.advance(10 * second)
      const { receipt } = await scene.receiveOne('q')
      const next = await enqueue(scene, { debounce, payload: page(2) })
      assert.equal(next.status, 'created')
      await scene.settle('q', receipt, { kind: 'retry', delayMs: 0 })
      const third = await enqueue(scene, { debounce, payload: page(3) })
      assert.deepEqual(third, { status: 'coalesced', id: next.id })
      assert.equal((await readJob(scene, id)).payload, page(1))
    },
  )

  suite.test('a job that ended without a start makes room for a new one', async (scene) => {
    await scene.queue('q')
    const { id } = await enqueue(scene, { debounce })
    await jobsOf(scene).cancel({ id })
    const next = await enqueue(scene, { debounce })
    assert.equal(next.status, 'created')
    await scene.backend.purgeQueue({ queue: 'q' })
    assert.equal((await enqueue(scene, { debounce })).status, 'created')
  })

  suite.test('its key counts as long as the job waits, however long that is', async (scene) => {
    await scene.queue('q', { ...ceilings({ running: 1 }), retentionMs: 14 * day })
    await enqueue(scene, { type: 'OMR' })
    const held = await scene.receiveOne('q', { visibilityMs: 12 * hour })
    const { id } = await enqueue(scene, { debounce })
    for (let passed = 0; passed < 3; passed += 1) {
      await scene.advance(3 * hour)
      while ((await scene.backend.sweep()).more);
    }
    assert.deepEqual(await enqueue(scene, { debounce }), { status: 'coalesced', id })
    await scene.acknowledge('q', held.receipt)
    await scene.advance(10 * second)
    await runOnce(scene, { kind: 'acknowledge' })
    await scene.advance(day)
    while ((await scene.backend.sweep()).more);
    assert.equal((await enqueue(scene, { debounce })).status, 'created')
  })
}

function describeReplacing(suite: ContractSuite): void {
  suite.test(
    'the payload, the options and the labels are those of the last call',
    async (scene) => {
      await scene.queue('q')
      const first = { debounce, tenant: 't1', tier: 'lite', maxAttempts: 1, payload: page(1) }
      const { id } = await enqueue(scene, first)
      const createdAt = (await readJob(scene, id)).createdAt
      await scene.advance(second)
      const large = JSON.stringify({ page: 'x'.repeat(5_000) })
      for (const payload of [large, page(2), large]) {
        await enqueue(scene, { debounce, tenant: 't2', maxAttempts: 5, payload, tags: ['new'] })
      }
      const job = await readJob(scene, id)
      assert.deepEqual(
        [job.payload, job.tenant, job.tier, job.maxAttempts, job.tags, job.createdAt],
        [large, 't2', null, 5, ['new'], createdAt],
      )
      await scene.advance(10 * second)
      const delivery = await scene.receiveOne('q')
      assert.deepEqual([delivery.body, delivery.group], [large, 't2'])
    },
  )

  suite.needing('ceilings').test('a job in a bucket is replaced there', async (scene) => {
    const perKey = [{ key: 'page', running: 1, rate: null }]
    await scene.queue('q', ceilings({ perKey }))
    await enqueue(scene, { type: 'OMR', payload: page(1) })
    await scene.receiveOne('q')
    const { id } = await enqueue(scene, { debounce, payload: page(1) })
    await scene.advance(10 * second)
    assert.deepEqual(await scene.receive('q'), [], 'its key is in use')
    await enqueue(scene, { debounce, payload: page(2) })
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 1, delayed: 1 })
    await scene.advance(10 * second)
    assert.equal((await scene.receiveOne('q')).job?.id, id)
  })

  suite.test('jobs of one call replace each other too', async (scene) => {
    await scene.queue('q')
    const jobs = [1, 2, 3].map((number) => ({ ...ocrJob, debounce, payload: page(number) }))
    const answers = await jobsOf(scene).enqueue({ queue: 'q', jobs })
    assert.deepEqual(
      answers.map(({ status }) => status),
      ['created', 'coalesced', 'coalesced'],
    )
    await scene.advance(10 * second)
    assert.deepEqual(await drain(scene, 'q'), [page(3)])
  })

  suite.test('it counts as one that was sent once', async (scene) => {
    await scene.queue('q')
    for (const number of [1, 2, 3]) await enqueue(scene, { debounce, payload: page(number) })
    const { totals } = await scene.backend.queueStatistics({ queue: 'q' })
    assert.equal(totals.sent, 1)
  })

  suite.needing('atomicSettle').test('a handler may throttle and debounce', async (scene) => {
    await scene.queue('q')
    await scene.queue('next')
    const emit = async (changes: Partial<NewJob>): Promise<EnqueuedJob> => {
      await scene.send('q', 'work')
      const { receipt } = await scene.receiveOne('q')
      const jobs = [{ queue: 'next', job: { ...ocrJob, ...changes } }]
      const result = only(
        await scene.backend.settle({
          queue: 'q',
          settlements: [{ receipt, outcome: { kind: 'acknowledge' }, jobs }],
        }),
      )
      assert.ok(result.status === 'settled')
      return only(result.enqueued)
    }
    const throttled = await emit({ throttle })
    assert.deepEqual(await emit({ throttle, payload: page(2) }), {
      ...{ status: 'coalesced', id: throttled.id },
    })
    const debounced = await emit({ debounce })
    assert.deepEqual(await emit({ debounce, payload: page(2) }), {
      ...{ status: 'coalesced', id: debounced.id },
    })
    assert.equal((await readJob(scene, debounced.id)).payload, page(2))
  })
}

function describeKeys(suite: ContractSuite): void {
  suite.test('a key counts for its queue, type and owner, and for one use', async (scene) => {
    await scene.queue('q')
    await scene.queue('other')
    for (const use of [
      { throttle },
      { debounce },
      { idempotency: { key: 'k', lifetimeMs: hour } },
    ]) {
      const answers = [
        await enqueue(scene, use),
        await enqueue(scene, { ...use, type: 'OMR' }),
        await enqueue(scene, { ...use, owner: 'ann' }),
        only(await jobsOf(scene).enqueue({ queue: 'other', jobs: [{ ...ocrJob, ...use }] })),
      ]
      assert.ok(answers.every(({ status }) => status === 'created'))
    }
  })

  suite.test('what cannot be is refused, and nothing is stored', async (scene) => {
    await scene.queue('q')
    const idempotency = { key: 'k', lifetimeMs: hour }
    for (const wrong of [
      { throttle, debounce },
      { throttle, idempotency },
      { debounce, idempotency },
      { debounce, delayMs: second },
      { throttle: { key: '', windowMs: minute } },
      { throttle: { key: 'k', windowMs: 99 } },
      { throttle: { key: 'k', windowMs: 30 * day + 1 } },
      { debounce: { key: 'x'.repeat(257), windowMs: minute } },
      { debounce: { key: 'k', windowMs: 30 * day + 1 } },
      { debounce: { key: 'k', windowMs: minute, maxWaitMs: minute - 1 } },
      { debounce, runAt: day },
    ]) {
      await rejects(enqueue(scene, wrong), 'invalid_argument')
    }
    assert.deepEqual(await scene.counts('q'), { ready: 0, leased: 0, delayed: 0 })
  })

  suite.needing('fifo').test('a FIFO queue has throttles, but no debounce', async (scene) => {
    await scene.fifoQueue('q.fifo')
    const call = (changes: Partial<NewJob>, deduplicationId: string): Promise<EnqueuedJob> =>
      enqueueInGroup(scene, { ...changes, deduplicationId })
    await rejects(call({ debounce }, '1'), 'invalid_argument')
    const { id } = await call({ throttle }, '2')
    assert.deepEqual(await call({ throttle }, '3'), { status: 'coalesced', id })
  })

  suite.needing('reopen').test('keys outlive a restart', async (scene) => {
    await scene.queue('q')
    const throttled = await enqueue(scene, { throttle })
    const debounced = await enqueue(scene, { debounce })
    await scene.reopen()
    assert.equal((await enqueue(scene, { throttle })).id, throttled.id)
    assert.equal((await enqueue(scene, { debounce })).id, debounced.id)
  })
}

async function enqueueInGroup(scene: Scene, changes: Partial<NewJob>): Promise<EnqueuedJob> {
  const job = { ...ocrJob, tenant: 'g', ...changes }
  return only(await jobsOf(scene).enqueue({ queue: 'q.fifo', jobs: [job] }))
}

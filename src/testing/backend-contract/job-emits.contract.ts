import assert from 'node:assert/strict'
import type { EmittedJob, Outcome, SettleResult } from '../../backends/backend.ts'
import type { NewJob } from '../../backends/job-store.ts'
import { enqueue, jobsOf, ocrJob, readJob } from './job-scene.ts'
import { assertRefused, hour, minute, only, type Scene, second } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeJobEmits(all: ContractSuite): void {
  const suite = all.needing('trackedJobs', 'atomicSettle')
  suite.describe('jobs that a settlement emits', () => {
    describeStoring(suite)
    describeRefusing(suite)
  })
}

const next: NewJob = { ...ocrJob, type: 'OMR', payload: '{"sheet":1}' }
const key = { key: 'k', lifetimeMs: hour }

function emitted(changes: Partial<NewJob> = {}, queue = 'next'): EmittedJob {
  return { queue, job: { ...next, ...changes } }
}

/** Two queues, and a leased message of the first. */
async function prepare(scene: Scene): Promise<string> {
  await scene.queue('q', { visibilityMs: minute })
  await scene.queue('next')
  await enqueue(scene)
  return (await scene.receiveOne('q')).receipt
}

async function settle(
  scene: Scene,
  receipt: string,
  jobs: readonly EmittedJob[],
  outcome: Outcome = { kind: 'acknowledge' },
): Promise<SettleResult> {
  return only(await scene.backend.settle({ queue: 'q', settlements: [{ receipt, outcome, jobs }] }))
}

function describeStoring(suite: ContractSuite): void {
  suite.test('are stored with the acknowledgement, in their order', async (scene) => {
    const receipt = await prepare(scene)
    const jobs = [emitted({ owner: 'ann' }), emitted({ delayMs: second }), emitted({}, 'q')]
    const result = await settle(scene, receipt, jobs)
    assert.ok(result.status === 'settled')
    assert.deepEqual(
      result.enqueued.map(({ status }) => status),
      ['created', 'created', 'created'],
    )
    const records = await Promise.all(result.enqueued.map(({ id }) => readJob(scene, id)))
    assert.deepEqual(
      records.map(({ queue, type, owner }) => [queue, type, owner]),
      [
        ['next', 'OMR', 'ann'],
        ['next', 'OMR', null],
        ['q', 'OMR', null],
      ],
    )
    assert.deepEqual(await scene.counts('next'), { ready: 1, leased: 0, delayed: 1 })
    assert.deepEqual(await scene.counts('q'), { ready: 1, leased: 0, delayed: 0 })
  })

  suite.test('come beside messages, and with any outcome', async (scene) => {
    const receipt = await prepare(scene)
    const settlement = {
      receipt,
      outcome: { kind: 'deadLetter', reason: 'broken' } as const,
      emits: [{ queue: 'next', message: { body: 'plain' } }],
      jobs: [emitted()],
    }
    const result = only(await scene.backend.settle({ queue: 'q', settlements: [settlement] }))
    assert.ok(result.status === 'settled')
    assert.deepEqual([result.emitted.length, result.enqueued.length], [1, 1])
    assert.equal((await scene.counts('next')).ready, 2)
  })

  suite.test('a settlement without them returns none', async (scene) => {
    const receipt = await prepare(scene)
    const result = await scene.acknowledge('q', receipt)
    assert.deepEqual(result.status === 'settled' && result.enqueued, [])
  })

  suite.test('are woken for like any other job', async (scene) => {
    const receipt = await prepare(scene)
    const receiving = scene.receive('next', { waitMs: 10 * second })
    await settle(scene, receipt, [emitted()])
    await scene.advance(second)
    assert.equal(only(await receiving).job?.type, 'OMR')
  })

  suite.test('are recognised by their keys', async (scene) => {
    const receipt = await prepare(scene)
    const first = only(
      await jobsOf(scene).enqueue({ queue: 'next', jobs: [{ ...next, idempotency: key }] }),
    )
    const coalesce = { ...key, key: 'c', coalesce: true }
    const result = await settle(scene, receipt, [
      emitted({ idempotency: key }),
      emitted({ idempotency: coalesce }),
      emitted({ idempotency: coalesce, payload: '{"sheet":2}' }),
    ])
    assert.ok(result.status === 'settled')
    const [duplicate, created, coalesced] = result.enqueued
    assert.deepEqual(duplicate, { status: 'duplicate', id: first.id })
    assert.equal(created?.status, 'created')
    assert.deepEqual(coalesced, { status: 'coalesced', id: created.id })
    assert.equal((await scene.counts('next')).ready, 2)
  })
}

function describeRefusing(suite: ContractSuite): void {
  suite.test('are not there when the lease was lost', async (scene) => {
    const receipt = await prepare(scene)
    await scene.advance(2 * minute)
    await scene.receiveOne('q')
    assert.equal((await settle(scene, receipt, [emitted()])).status, 'stale')
    assert.equal((await scene.counts('next')).ready, 0)
  })

  suite.test(
    'one that cannot be stored refuses the settlement, which changes nothing',
    async (scene) => {
      const receipt = await prepare(scene)
      await scene.queue('small', { messageBytesMax: 1_024 })
      await jobsOf(scene).enqueue({ queue: 'next', jobs: [{ ...next, idempotency: key }] })
      const other = { idempotency: key, payload: '{"sheet":2}' }
      const newKey = { ...key, key: 'new' }
      const large = { payload: JSON.stringify('x'.repeat(2_000)) }
      for (const [code, ...jobs] of [
        ['queue_not_found', emitted({}, 'nowhere')],
        ['message_too_large', emitted(large, 'small')],
        ['invalid_argument', emitted({ maxAttempts: 0 })],
        ['invalid_argument', emitted({ payload: '' })],
        ['idempotency_conflict', emitted(other)],
        [
          'idempotency_conflict',
          emitted({ idempotency: newKey }),
          emitted({ ...other, idempotency: newKey }),
        ],
      ] as const) {
        assertRefused(await settle(scene, receipt, [emitted(), ...jobs]), code)
      }
      assert.equal((await scene.counts('next')).ready, 1)
      assert.equal((await settle(scene, receipt, [emitted()])).status, 'settled')
    },
  )

  suite.test('one bad settlement does not touch its neighbours', async (scene) => {
    const receipt = await prepare(scene)
    await enqueue(scene)
    const other = (await scene.receiveOne('q')).receipt
    const outcome = { kind: 'acknowledge' } as const
    const results = await scene.backend.settle({
      queue: 'q',
      settlements: [
        { receipt, outcome, jobs: [emitted({}, 'nowhere')] },
        { receipt: other, outcome, jobs: [emitted()] },
      ],
    })
    assert.deepEqual(
      results.map(({ status }) => status),
      ['refused', 'settled'],
    )
    assert.equal((await scene.counts('next')).ready, 1)
  })
}

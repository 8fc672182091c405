import assert from 'node:assert/strict'
import { enqueue, jobsOf, ocrJob, readJob, runOnce } from './job-scene.ts'
import { hour, only, rejects } from './scene.ts'
import type { ContractSuite } from './suite.ts'

export function describeJobIdempotency(all: ContractSuite): void {
  const suite = all.needing('trackedJobs')
  suite.describe('the idempotency of jobs', () => {
    const idempotency = { key: 'k-1', lifetimeMs: hour }

    suite.test('the same key and payload answer the same job', async (scene) => {
      await scene.queue('q')
      const first = await enqueue(scene, { idempotency })
      const again = await Promise.all(
        Array.from({ length: 50 }, () => enqueue(scene, { idempotency })),
      )
      assert.deepEqual(new Set(again.map(({ id }) => id)), new Set([first.id]))
      assert.ok(again.every(({ status }) => status === 'duplicate'))
      assert.equal((await scene.counts('q')).ready, 1)
      assert.equal((await readJob(scene, first.id)).idempotencyKey, 'k-1')
    })

    suite.test('the same key with another payload is a conflict', async (scene) => {
      await scene.queue('q')
      await enqueue(scene, { idempotency })
      const other = { ...ocrJob, payload: '{"page":2}', idempotency }
      const jobs = [ocrJob, other]
      await rejects(jobsOf(scene).enqueue({ queue: 'q', jobs }), 'idempotency_conflict')
      assert.equal((await scene.counts('q')).ready, 1)
    })

    suite.test('payloads are compared by what they mean', async (scene) => {
      await scene.queue('q')
      const payload = '{"a":[1.0,{"x":"\\u0041","y":null}],"b":true}'
      const { id } = await enqueue(scene, { idempotency, payload })
      const same = '{ "b": true, "a": [1, { "y": null, "x": "A" }] }'
      assert.deepEqual(await enqueue(scene, { idempotency, payload: same }), {
        status: 'duplicate',
        id,
      })
      const otherOrder = '{"b":true,"a":[{"y":null,"x":"A"},1]}'
      await rejects(enqueue(scene, { idempotency, payload: otherOrder }), 'idempotency_conflict')
    })

    suite.test('a key counts for its queue, type and owner', async (scene) => {
      await scene.queue('q')
      await scene.queue('other')
      const answers = [
        await enqueue(scene, { idempotency }),
        await enqueue(scene, { idempotency, type: 'OMR' }),
        await enqueue(scene, { idempotency, owner: 'ann' }),
        only(await jobsOf(scene).enqueue({ queue: 'other', jobs: [{ ...ocrJob, idempotency }] })),
      ]
      assert.ok(answers.every(({ status }) => status === 'created'))
    })

    suite.test('a key has a life of its own', async (scene) => {
      await scene.queue('q')
      const { id } = await enqueue(scene, { idempotency })
      await runOnce(scene, { kind: 'acknowledge' })
      assert.deepEqual(await enqueue(scene, { idempotency }), { status: 'duplicate', id })
      await scene.advance(hour)
      assert.equal((await enqueue(scene, { idempotency })).status, 'created')
    })

    suite.test('a waiting job may coalesce later ones', async (scene) => {
      await scene.queue('q')
      const coalesce = { ...idempotency, coalesce: true }
      const { id } = await enqueue(scene, { idempotency: coalesce })
      const later = { idempotency: coalesce, payload: '{"page":2}' }
      assert.deepEqual(await enqueue(scene, later), { status: 'coalesced', id })
      await scene.receiveOne('q')
      assert.equal((await enqueue(scene, later)).status, 'created')
    })
  })
}

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { defineApp, jobs, open } from '../../src/index.ts'
import { ChildProgram } from '../support/child-program.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import { assertLeaseKept } from './assert-lease-kept.ts'
import { blockingFile, standStill } from './blocking.ts'
import { forge, leaseMs } from './forge.ts'

describe('a handler that blocks the event loop for longer than its lease', () => {
  test('keeps it: nobody else gets the job, and it is done in one attempt', () =>
    inTemporaryFolder('store', ({ path: data }) => assertLeaseKept({ data })))

  test('does not keep the jobs that wait behind it: another worker runs them', () =>
    inTemporaryFolder('waiting', async ({ path: data, file }) => {
      await using mill = await open(forge, { data })
      const fast = { type: 'WORK', payload: {} } as const
      const slow = { type: 'WORK', payload: { blockedUntil: file('end'), atOnce: true } } as const
      // The worker has found its pace when it meets the one that blocks.
      const jobs = [...Array(800).fill(fast), slow, ...Array(199).fill(fast)]
      const ids = (await mill.jobs.enqueueMany('basic', jobs)).map(({ id }) => id)
      const [slowId = '', ...behind] = ids.slice(800)
      const child = new ChildProgram(blockingFile, { data })
      const statusOf = async (id: string) => (await mill.jobs.get(id))?.status
      while ((await statusOf(slowId)) === 'pending') await turn()
      const other = mill.worker({ poll: ['basic'], handle: { WORK: () => 'elsewhere' } })
      other.start()
      for (const id of behind) {
        while ((await statusOf(id)) !== 'completed') await turn()
      }
      assert.equal(await statusOf(slowId), 'processing')
      await writeFile(file('end'), '')
      assert.equal((await mill.jobs.waitFor(slowId)).result, 'blocked')
      child.send({ kind: 'stop' })
      await child.ended()
      await other.stop()
      const { items } = await mill.jobs.list('basic', { limit: 1_000 })
      const ends = new Set(items.map(({ status, attemptsMade }) => `${status} ${attemptsMade}`))
      assert.deepEqual([...ends], ['completed 1'])
    }))

  test('costs no attempt of jobs that were claimed from another queue in the same moment', () =>
    inTemporaryFolder('two-queues', async ({ path: data }) => {
      const WORK = z.object({ ms: z.number() })
      const visibilityTimeout = `${leaseMs}ms` as const
      const line = () => jobs({ types: { WORK }, visibilityTimeout, attempts: 1 })
      const app = defineApp('two', { queues: { a: line(), b: line() } })
      await using mill = await open(app, { data })
      const entries = (first: number) =>
        [first, 0, 0].map((ms) => ({ type: 'WORK', payload: { ms } }) as const)
      const enqueued = [
        ...(await mill.jobs.enqueueMany('a', entries(1.5 * leaseMs))),
        ...(await mill.jobs.enqueueMany('b', entries(0))),
      ]
      const handle = { WORK: ({ ms }: { ms: number }) => standStill(ms) }
      const worker = mill.worker({ poll: ['a', 'b'], concurrency: 6, handle })
      worker.start()
      const ends = await Promise.all(enqueued.map(({ id }) => mill.jobs.waitFor(id)))
      await worker.stop()
      assert.deepEqual(
        ends.map(({ status }) => status),
        ends.map(() => 'completed'),
      )
    }))
})

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

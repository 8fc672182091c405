import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { setTimeout as after } from 'node:timers/promises'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { defineApp, jobs, open } from '../../src/index.ts'
import { ChildProgram } from '../support/child-program.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import { type Blocked, blockingFile, standStill } from './blocking.ts'
import { forge, leaseMs } from './forge.ts'

describe('a handler that blocks the event loop for longer than its lease', () => {
  test('keeps it: nobody else gets the job, and it is done in one attempt', () =>
    inTemporaryFolder('blocked', async ({ path: data, file }) => {
      await using mill = await open(forge, { data })
      const child = new ChildProgram(blockingFile, { data })
      await child.next('ready')
      const { id } = await mill.jobs.enqueue('basic', 'WORK', { blockedUntil: file('end') })
      await child.next('blocking')
      const taken: string[] = []
      const other = mill.worker({
        poll: ['basic'],
        handle: { WORK: (_, context) => void taken.push(context.id) },
      })
      other.start()
      await after(2 * leaseMs)
      await writeFile(file('end'), '')
      const { isAborted } = await child.next<Blocked>('blocked')
      const job = await mill.jobs.waitFor(id)
      assert.deepEqual(
        { status: job.status, result: job.result, attempts: job.attemptsMade, taken, isAborted },
        { status: 'completed', result: 'kept', attempts: 1, taken: [], isAborted: false },
      )
      // The other one is able to work, had there been anything for it.
      child.send({ kind: 'stop' })
      await child.ended()
      const next = await mill.jobs.enqueue('basic', 'WORK', {})
      await mill.jobs.waitFor(next.id)
      assert.deepEqual(taken, [next.id])
    }))

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

import assert from 'node:assert/strict'
import { test } from 'vitest'
import type { ListJobs } from '../../../src/backends/job-store.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { inTemporaryFolder } from '../../support/temporary-folder.ts'

test('a page of somebody who owns little among many jobs is cut short, and the pages are complete', () =>
  inTemporaryFolder('job-listing', async (folder) => {
    const backend = await openSqlite({ file: folder.file('store.db') })
    await backend.createQueue({ queue: 'jobs' })
    const store = backend.jobs
    assert.ok(store !== null)
    const job = { type: 'OCR', payload: '1', maxAttempts: 3 }
    const enqueue = (count: number, owner: string) =>
      store.enqueue({
        queue: 'jobs',
        jobs: Array.from({ length: count }, () => ({ ...job, owner })),
      })
    const [first] = await enqueue(1, 'bea')
    for (let round = 0; round < 60; round += 1) await enqueue(1_000, 'anna')
    const [last] = await enqueue(1, 'bea')

    const pages = async (request: Omit<ListJobs, 'queue' | 'limit'>) => {
      const found: string[][] = []
      let after: string | undefined
      do {
        const page = await store.list({
          queue: 'jobs',
          limit: 10,
          ...request,
          ...(after && { after }),
        })
        found.push(page.items.map(({ id }) => id))
        after = page.next
      } while (after !== undefined)
      return found
    }
    assert.deepEqual(await pages({ owner: 'bea' }), [[last?.id], [first?.id]])
    assert.deepEqual(await pages({ owner: 'carl' }), [[], []])
    assert.deepEqual(await pages({ type: 'OMR' }), [[], []])
    assert.deepEqual(await pages({ status: 'completed', owner: 'bea' }), [[], []])
    await backend.close()
  }))

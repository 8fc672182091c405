/** What only shows with many jobs; the contract suite has the rest. */
import assert from 'node:assert/strict'
import { test } from 'vitest'
import type { EnqueuedJob, JobStore, ListJobs, NewJob } from '../../../src/backends/job-store.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { inTemporaryFolder } from '../../support/temporary-folder.ts'

interface Listing {
  readonly store: JobStore
  enqueue(count: number, more?: Partial<NewJob>): Promise<readonly EnqueuedJob[]>
  /** The ids of all pages. */
  pages(request?: Omit<ListJobs, 'queue' | 'limit'>): Promise<readonly (readonly string[])[]>
}

function withListing(run: (listing: Listing) => Promise<void>): Promise<void> {
  return inTemporaryFolder('job-listing', async (folder) => {
    const backend = await openSqlite({ file: folder.file('store.db') })
    await backend.createQueue({ queue: 'jobs' })
    const store = backend.jobs
    assert.ok(store !== null)
    const job = { type: 'OCR', payload: '1', maxAttempts: 3 }
    await run({
      store,
      enqueue: (count, more) => {
        const jobs = Array.from({ length: count }, () => ({ ...job, ...more }))
        return store.enqueue({ queue: 'jobs', jobs })
      },
      pages: async (request = {}) => {
        const found: string[][] = []
        let after: string | undefined
        do {
          const limits = { queue: 'jobs', limit: 10, ...(after && { after }) }
          const page = await store.list({ ...limits, ...request })
          found.push(page.items.map(({ id }) => id))
          after = page.next
        } while (after !== undefined)
        return found
      },
    })
    await backend.close()
  })
}

test('a page of somebody who owns little among many jobs is cut short, and the pages are complete', () =>
  withListing(async ({ enqueue, pages }) => {
    const [first] = await enqueue(1, { owner: 'bea' })
    for (let round = 0; round < 60; round += 1) await enqueue(1_000, { owner: 'anna' })
    const [last] = await enqueue(1, { owner: 'bea' })

    assert.deepEqual(await pages({ owner: 'bea' }), [[last?.id], [first?.id]])
    assert.deepEqual(await pages({ owner: 'carl' }), [[], []])
    assert.deepEqual(await pages({ type: 'OMR' }), [[], []])
    assert.deepEqual(await pages({ status: 'completed', owner: 'bea' }), [[], []])
  }))

test('jobs that are delayed are listed among those that are ready, however many they are', () =>
  withListing(async ({ enqueue, pages }) => {
    const ids: string[] = []
    for (let round = 0; round < 3; round += 1) {
      const delayed = await enqueue(1_000, { delayMs: 60_000 })
      const ready = await enqueue(5)
      ids.push(...delayed.map(({ id }) => id), ...ready.map(({ id }) => id))
      const listed = await pages()
      assert.deepEqual(listed.flat(), ids.toReversed())
      assert.deepEqual((await pages({ status: 'pending' })).flat(), ids.toReversed())
      assert.deepEqual((await pages({ status: 'processing' })).flat(), [])
    }
  }))

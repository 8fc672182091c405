import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import type { FindStuck } from '../../../src/backends/job-store.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { assertTimesAsLong } from '../../support/processor-time.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const hour = 3_600_000

describe('looking for stuck jobs', () => {
  test('takes as long with many that wait or are in hand as with fewer', async () => {
    const folder = await temporaryFolder('stuck')
    const ports = virtualPorts()
    const backend = await openSqlite({ file: folder.file('store.db'), ports })
    onTestFinished(async () => {
      await backend.close()
      await folder.remove()
    })
    const { jobs } = backend
    assert.ok(jobs !== null)
    const job = { type: 'OCR', payload: '{}', maxAttempts: 3 }
    const thousand = Array.from({ length: 1_000 }, () => job)
    // More than a search may read, in either queue.
    const thousands = { fewer: 6, many: 36 }
    for (const [queue, count] of Object.entries(thousands)) {
      await backend.createQueue({ queue, settings: { visibilityMs: 12 * hour } })
      for (let call = 0; call < 2 * count; call += 1) {
        await jobs.enqueue({ queue, jobs: thousand })
      }
      for (let call = 0; call < count; call += 1) await backend.receive({ queue, max: 1_000 })
    }
    ports.clock.sleep(7 * hour)
    const look = (queue: string, status: FindStuck['status']) => async () => {
      const found = await jobs.stuck({ queue, status, olderThanMs: hour, limit: 100 })
      assert.equal(found.length, 100)
    }
    for (const status of ['pending', 'processing'] as const) {
      const [work, reference] = [look('many', status), look('fewer', status)]
      await assertTimesAsLong({ work, reference, timesMax: 2.5 })
    }
  })
})

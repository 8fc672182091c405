import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const hour = 3_600_000

describe('looking for stuck jobs', () => {
  test('is quick, however many wait and however many are in hand', async () => {
    const folder = await temporaryFolder('stuck')
    const ports = virtualPorts()
    const backend = await openSqlite({ file: folder.file('store.db'), ports })
    onTestFinished(async () => {
      await backend.close()
      await folder.remove()
    })
    assert.ok(backend.jobs !== null)
    await backend.createQueue({ queue: 'q', settings: { visibilityMs: 12 * hour } })
    const job = { type: 'OCR', payload: '{}', maxAttempts: 3 }
    const thousand = Array.from({ length: 1_000 }, () => job)
    for (let call = 0; call < 60; call += 1) {
      await backend.jobs.enqueue({ queue: 'q', jobs: thousand })
    }
    for (let call = 0; call < 20; call += 1) await backend.receive({ queue: 'q', max: 1_000 })
    ports.clock.sleep(7 * hour)
    const request = { queue: 'q', olderThanMs: hour, limit: 100 }
    for (const status of ['pending', 'processing'] as const) {
      const found = await backend.jobs.stuck({ ...request, status })
      assert.equal(found.length, 100)
      const before = performance.now()
      await backend.jobs.stuck({ ...request, status })
      const tookMs = performance.now() - before
      assert.ok(tookMs < 50, `${status}: ${tookMs} ms`)
    }
  }, 30_000)
})

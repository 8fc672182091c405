import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, onTestFinished, test } from 'vitest'
import type { Backend, SweepReport } from '../../../src/backends/backend.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { type VirtualClock, virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { assertSoundStore } from '../../support/store-inspection.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

interface HistoryScene {
  readonly backend: Backend
  readonly clock: VirtualClock
  /** Writes finished jobs into the store, each with an attempt, a progress and a spending. */
  addFinished(count: number, payload?: string): void
  remaining(): number
}

const hour = 3_600_000

async function openScene(): Promise<HistoryScene> {
  const folder = await temporaryFolder('forgetting')
  const file = folder.file('store.db')
  const ports = virtualPorts()
  const backend = await openSqlite({ file, ports })
  const history = { completedMs: hour, failedMs: null }
  await backend.createQueue({ queue: 'q', settings: { history } })
  const db = new DatabaseSync(file)
  onTestFinished(async () => {
    db.close()
    await backend.close()
    assertSoundStore(file)
    await folder.remove()
  })
  let number = 0
  const job = db.prepare(`
    INSERT INTO finished_job (
      number, queue, type, status, details, payload, attempts, created_at, finished_at
    ) VALUES (?, 'q', 'OCR', 'completed', '{"type":"OCR","max":1}', ?, 1, ?, ?)`)
  const attempt = db.prepare("INSERT INTO job_attempt VALUES (?, 1, 0, 0, 'retried', NULL)")
  const progress = db.prepare('INSERT INTO job_progress VALUES (?, 0.5, 0)')
  const spending = db.prepare("INSERT INTO job_spending VALUES (?, 'llm', 5)")
  return {
    backend,
    clock: ports.clock,
    addFinished(count, payload = '1') {
      db.exec('BEGIN')
      for (let added = 0; added < count; added += 1) {
        number += 1
        job.run(number, payload, ports.clock.now(), ports.clock.now())
        attempt.run(number)
        progress.run(number)
        spending.run(number)
      }
      db.exec('COMMIT')
    },
    remaining: () => db.prepare('SELECT number FROM finished_job').all().length,
  }
}

/** Sweeps as the sweeper does in one go. */
async function sweepOn(backend: Backend): Promise<readonly SweepReport[]> {
  const reports: SweepReport[] = []
  do reports.push(await backend.sweep())
  while (reports.at(-1)?.more)
  return reports
}

describe('forgetting finished jobs', () => {
  test('goes on at once only while it finds much to forget', async () => {
    const { backend, clock, addFinished, remaining } = await openScene()
    addFinished(1_200)
    for (let round = 0; round < 5; round += 1) {
      assert.deepEqual(await sweepOn(backend), [{ changed: 0, more: false }])
    }
    await clock.advance(hour)
    addFinished(700)
    // Wherever the walk has come to, two rounds pass over everything.
    for (let round = 0; round < 2; round += 1) await sweepOn(backend)
    assert.equal(remaining(), 700)
  })

  test('leaves neither attempts nor progress behind', async () => {
    const { backend, clock, addFinished, remaining } = await openScene()
    addFinished(20)
    await clock.advance(hour)
    assert.deepEqual(await sweepOn(backend), [{ changed: 20, more: false }])
    assert.equal(remaining(), 0)
  })

  test('passes over a bounded amount of large payloads at a time', async () => {
    const { backend, clock, addFinished, remaining } = await openScene()
    addFinished(50, 'x'.repeat(200_000))
    await clock.advance(hour)
    const reports = await sweepOn(backend)
    assert.ok(
      reports.every(({ changed }) => changed <= 10),
      'too many at once',
    )
    assert.equal(remaining(), 0)
  })
})

/** A settlement whose lease has lapsed meets a transaction that leases the same message again. */
import assert from 'node:assert/strict'
import pg from 'pg'
import { describe, onTestFinished, test } from 'vitest'
import { openPostgres } from '../../../src/backends/postgres/index.ts'
import { virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { freshDatabase } from '../../services/fresh-database.ts'

const queue = 'scans'
const leaseMs = 30_000

describe('a job that is leased again while its late settlement runs', () => {
  test.each([
    ['alone', {}],
    ['with a message', { emits: [{ queue: 'next', message: { body: 'late' } }] }],
    ['with rows of the caller', { within: () => undefined }],
  ])('is not completed by it, %s', async (_, parts) => {
    const { url } = await freshDatabase()
    const ports = virtualPorts()
    const { backend } = await openPostgres({ url, ports, usesPortsTime: true })
    onTestFinished(() => backend.close())
    await backend.createQueue({ queue, settings: { visibilityMs: leaseMs } })
    await backend.createQueue({ queue: 'next' })
    await backend.jobs?.enqueue({ queue, jobs: [{ type: 'OCR', payload: '1', maxAttempts: 9 }] })
    const [late] = await backend.receive({ queue, max: 1 })
    assert.ok(late !== undefined)
    await ports.clock.advance(leaseMs + 1)

    const other = new pg.Client({ connectionString: url })
    await other.connect()
    onTestFinished(() => other.end())
    await other.query('BEGIN')
    await other.query('UPDATE millrace.message SET token = token + 1000')
    const settlements = [
      { receipt: late.receipt, outcome: { kind: 'acknowledge', result: '2' }, ...parts } as const,
    ]
    const settled = backend.settle({ queue, settlements })
    await someoneWaits(url)
    await other.query('COMMIT')

    assert.equal((await settled)[0]?.status, 'stale')
    const { rows } = await other.query('SELECT count(*)::int AS jobs FROM millrace.finished_job')
    assert.deepEqual(rows, [{ jobs: 0 }], 'the job has ended, and its message is still there')
    assert.equal((await backend.queueStatistics({ queue: 'next' })).ready, 0)
    await backend.sweep()
    assert.equal((await backend.receive({ queue, max: 1 })).length, 1)
  })
})

/** Resolves when a connection to the database waits for a lock. */
async function someoneWaits(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const waiting =
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
  while ((await client.query(waiting)).rows.length === 0);
  await client.end()
}

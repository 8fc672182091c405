import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import pg from 'pg'
import { describe, onTestFinished, test } from 'vitest'
import { openPostgres } from '../../src/backends/postgres/index.ts'
import { freshDatabase } from '../services/fresh-database.ts'
import { assertLeaseKept } from './assert-lease-kept.ts'

describe('a handler that blocks the event loop for longer than its lease, on Postgres', () => {
  test('keeps it: nobody else gets the job, and it is done in one attempt', async () => {
    const { url } = await freshDatabase()
    await assertLeaseKept({ url }, () => connection(url, 'millrace leases'))
  })
})

/** Waits until a connection of this name is there. */
async function connection(url: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const text =
    "SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND query <> '' AND state = 'idle'"
  while ((await client.query(text, [name])).rows.length === 0);
  await client.end()
}

describe('the thread that keeps leases on Postgres', () => {
  test('is given the connection of a pool, whose password nothing prints', async () => {
    const { url } = await freshDatabase()
    const secret = 'never printed'
    const { hostname: host, port, pathname, username: user } = new URL(url)
    const config = { host, port: Number(port), database: pathname.slice(1), user, password: secret }
    const pool = new pg.Pool(config)
    onTestFinished(() => pool.end())
    const { backend } = await openPostgres({ pool })
    onTestFinished(() => backend.close())
    const { otherThread } = backend
    assert.ok(String(otherThread?.options['copied']).includes(secret))
    assert.ok(!inspect(backend, { depth: 9 }).includes(secret))
    assert.ok(!JSON.stringify(otherThread).includes(secret))
  })

  test('is not there if it could not make the same connections', async () => {
    const { url } = await freshDatabase()
    const pool = new pg.Pool({ connectionString: url, password: () => 'from elsewhere' })
    onTestFinished(() => pool.end())
    const { backend } = await openPostgres({ pool })
    onTestFinished(() => backend.close())
    assert.equal(backend.otherThread, null)
  })

  test('extends and releases leases, and tells other processes of those', async () => {
    const { url } = await freshDatabase()
    const { backend } = await openPostgres({ url })
    onTestFinished(() => backend.close())
    await backend.createQueue({ queue: 'q' })
    const messages = [{ body: '1' }, { body: '2' }, { body: '3' }]
    await backend.send({ queue: 'q', messages })
    const leased = await backend.receive({ queue: 'q', max: 3, visibilityMs: 60_000 })
    const { otherThread } = backend
    assert.ok(otherThread !== null)
    const { openRenewer } = await import(otherThread.module)
    const renewer = openRenewer(otherThread.options)
    onTestFinished(() => renewer.close())
    const [first, ...others] = leased.map(({ receipt }) => receipt)
    const leases = [{ receipt: first, visibilityMs: 90_000 }]
    const [extended] = await renewer.extend({ queue: 'q', leases })
    assert.equal(extended.status, 'extended')
    assert.ok(extended.leaseExpiresAt > (leased[0]?.leaseExpiresAt ?? 0))
    const waiting = backend.receive({ queue: 'q', max: 10, waitMs: 20_000 })
    await renewer.release({ queue: 'q', receipts: others.toReversed() })
    const again = await waiting
    assert.deepEqual(
      again.map(({ body, receiveCount }) => [body, receiveCount]),
      [
        ['2', 1],
        ['3', 1],
      ],
    )
  })
})

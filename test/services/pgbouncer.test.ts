/** What PgBouncer in transaction mode takes away, so that tests through it mean something. */
import assert from 'node:assert/strict'
import { Client } from 'pg'
import { describe, onTestFinished, test } from 'vitest'
import { freshDatabase } from './fresh-database.ts'
import { startPgbouncer } from './pgbouncer.ts'
import { startPostgresServer } from './postgres-server.ts'
import { query } from './query.ts'

describe('PgBouncer in transaction mode', () => {
  test('loses the settings of a session', async () => {
    const { client, moveToOtherConnection } = await pooledClient()
    await client.query("SET application_name = 'mine'; SET statement_timeout = '7s'")
    await moveToOtherConnection()
    const { rows } = await client.query('SHOW statement_timeout')
    assert.deepEqual(rows, [{ statement_timeout: '0' }])
  })

  test('loses LISTEN', async () => {
    const { client, moveToOtherConnection } = await pooledClient()
    await client.query('LISTEN news')
    await moveToOtherConnection()
    const { rows } = await client.query('SELECT pg_listening_channels()')
    assert.deepEqual(rows, [])
  })

  test('loses prepared statements', async () => {
    const { client, moveToOtherConnection } = await pooledClient()
    const prepared = { name: 'one', text: 'SELECT 1 AS value' }
    await client.query(prepared)
    await moveToOtherConnection()
    await assert.rejects(client.query(prepared), { code: '26000' })
  })

  test('keeps one connection for a whole transaction', async () => {
    const { client, moveToOtherConnection } = await pooledClient()
    await client.query("BEGIN; SET LOCAL statement_timeout = '7s'")
    await moveToOtherConnection()
    const { rows } = await client.query('SHOW statement_timeout')
    assert.deepEqual(rows, [{ statement_timeout: '7s' }])
    await client.query('COMMIT')
  })

  test('works again after a restart of itself, and of the server', async () => {
    await using server = await startPostgresServer()
    await using pgbouncer = await startPgbouncer({ serverPort: server.port })
    const url = pgbouncer.url('postgres')
    await query(url, 'CREATE TABLE kept AS SELECT 1 AS value')
    await pgbouncer.stop()
    await assert.rejects(query(url, 'SELECT'), { code: 'ECONNREFUSED' })
    await pgbouncer.start()
    assert.deepEqual(await query(url, 'TABLE kept'), [{ value: 1 }])
    await server.stop('fast')
    await server.start()
    assert.deepEqual(await query(url, 'TABLE kept'), [{ value: 1 }])
  })
})

interface PooledClient {
  readonly client: Client
  /** Occupies the connection that the pool used last, so that the client's next transaction gets another. */
  moveToOtherConnection(): Promise<void>
}

async function pooledClient(): Promise<PooledClient> {
  const { pgbouncerUrl } = await freshDatabase()
  const client = await connected(pgbouncerUrl)
  const other = await connected(pgbouncerUrl)
  const moveToOtherConnection = async (): Promise<void> => {
    await other.query('BEGIN')
  }
  return { client, moveToOtherConnection }
}

async function connected(url: string): Promise<Client> {
  const client = new Client(url)
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

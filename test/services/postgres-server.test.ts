import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { chmod, readdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describe, test, vi } from 'vitest'
import { ChildProgram } from '../support/child-program.ts'
import { inTemporaryFolder } from '../support/temporary-folder.ts'
import { startPostgresServer } from './postgres-server.ts'
import { query } from './query.ts'
import type { ServersReport } from './servers.ts'

const refused = { code: 'ECONNREFUSED' }

describe('a Postgres server for tests', () => {
  test('keeps its commits, its port and its socket over a crash, if it is durable', async () => {
    await using server = await startPostgresServer({ durable: true })
    const url = await server.createDatabase('kept')
    const settings =
      "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit')"
    assert.deepEqual(await query(url, `${settings} ORDER BY name`), [
      { name: 'fsync', setting: 'on' },
      { name: 'synchronous_commit', setting: 'on' },
    ])
    await query(url, 'CREATE TABLE kept AS SELECT 1 AS value')
    await server.stop('immediate')
    await assert.rejects(query(url, 'SELECT'), refused)
    await server.start()
    assert.deepEqual(await query(url, 'TABLE kept'), [{ value: 1 }])
    assert.deepEqual(await query(server.socketUrl('kept'), 'TABLE kept'), [{ value: 1 }])
  })

  test('can be stopped twice and started again', async () => {
    await using server = await startPostgresServer()
    await query(server.url('postgres'), 'CREATE TABLE kept AS SELECT 1 AS value')
    await server.stop('fast')
    await server.stop('fast')
    await server.start()
    assert.deepEqual(await query(server.url('postgres'), 'TABLE kept'), [{ value: 1 }])
  })

  test('can be started as a replica, which refuses to write', async () => {
    await using server = await startPostgresServer()
    const url = server.url('postgres')
    await query(url, 'CREATE TABLE kept AS SELECT 1 AS value')
    await server.stop('fast')
    await server.startAsReplica()
    assert.deepEqual(await query(url, 'TABLE kept'), [{ value: 1 }])
    await assert.rejects(query(url, 'DELETE FROM kept'), { code: '25006' })
  })

  test('sorts text like most servers in production', async () => {
    await using server = await startPostgresServer()
    const rows = await query(server.url('postgres'), `SELECT 'a' < 'B' AS "isFirst"`)
    assert.deepEqual(rows, [{ isFirst: true }])
  })

  test('reports the log of a start that fails, and leaves nothing behind', () =>
    inTemporaryFolder('postgres', async (folder) => {
      // The server may run as another user.
      await chmod(folder.path, 0o777)
      vi.stubEnv('TMPDIR', folder.path)
      const start = startPostgresServer({ durable: true, settings: { port: 'none' } })
      await assert.rejects(start, /Postgres: the server did not start:.*"port": "none"/s)
      assert.deepEqual(await readdir(folder.path), [])
    }).finally(() => vi.unstubAllEnvs()))

  test.each([
    ['is killed', (child: ChildProgram) => child.kill()],
    ['dies while it stops one of them', stopAndDie],
  ])('ends with PgBouncer when the process that started them %s', async (_how, end) => {
    const child = new ChildProgram(new URL('./servers.child.ts', import.meta.url), {})
    const { postgresUrl, pgbouncerUrl } = await child.next<ServersReport>('started')
    const [row] = await query<{ data_directory: string }>(pgbouncerUrl, 'SHOW data_directory')
    const folder = dirname(row?.data_directory ?? '')
    assert.ok(existsSync(folder))
    await end(child)
    await vi.waitFor(
      async () => {
        await assert.rejects(query(postgresUrl, 'SELECT'), refused)
        await assert.rejects(query(pgbouncerUrl, 'SELECT'), refused)
        assert.ok(!existsSync(folder))
      },
      { timeout: 120_000 },
    )
  })
})

async function stopAndDie(child: ChildProgram): Promise<void> {
  child.send({ kind: 'stop' })
  await child.gone()
}

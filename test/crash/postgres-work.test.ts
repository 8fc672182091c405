import assert from 'node:assert/strict'
import pg from 'pg'
import { describe, test } from 'vitest'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import {
  type CommitFault,
  prepareForCommitFaults,
  startCommitProxy,
} from '../services/commit-proxy.ts'
import { startCutProxy } from '../services/cut-proxy.ts'
import { freshDatabase } from '../services/fresh-database.ts'
import { startPgbouncer } from '../services/pgbouncer.ts'
import { startPostgresServer } from '../services/postgres-server.ts'
import { query } from '../services/query.ts'
import { seed } from '../support/seed.ts'
import { PostgresWork } from './postgres-work.ts'

const silentFaults: readonly CommitFault[] = ['cut before', 'cut after', 'terminated', 'conflict']

describe(`jobs on Postgres are neither lost nor run again once settled (MILLRACE_SEED=${seed})`, () => {
  test('while the server is stopped in the middle of transactions', async () => {
    await using server = await startPostgresServer({ durable: true })
    const url = await server.createDatabase('stopped')
    const work = await PostgresWork.open({ url, directUrl: url })
    await work.during(async () => {
      for (let round = 0; round < 3; round += 1) {
        await work.afterJobs(60)
        await server.stop('immediate')
        await server.start()
      }
      await work.afterJobs(60)
    })
    assert.deepEqual(work.failures, new Map())
  }, 120_000)

  test('while connections are cut at random bytes', async () => {
    const { url } = await freshDatabase()
    using proxy = await startCutProxy(portOf(url))
    const random = seededRandomness(seed)
    const work = await PostgresWork.open({ url: proxy.url(url), directUrl: url })
    await work.during(async () => {
      for (let round = 0; round < 40; round += 1) {
        const bytes = Math.floor(random.next() * 20_000)
        await proxy.cutAfter(bytes, random.next() < 0.5 ? 'toServer' : 'toClient')
      }
    })
    assert.deepEqual(work.failures, new Map())
  }, 120_000)

  test.each([4, 1])(
    'while commits fail in every way, with %i connections',
    async (connections) => {
      const { url } = await freshDatabase()
      await prepareForCommitFaults(url)
      using proxy = await startCommitProxy(portOf(url))
      const random = seededRandomness(seed)
      const work = await PostgresWork.open({ url: proxy.url(url), directUrl: url, connections })
      await work.during(async () => {
        proxy.choose = () => {
          if (random.next() > 0.1) return undefined
          return silentFaults[Math.floor(random.next() * silentFaults.length)]
        }
        await work.afterJobs(500)
        proxy.choose = () => undefined
      })
      for (const fault of silentFaults) assert.ok(proxy.met[fault] > 0, `${fault} was not met`)
      assert.deepEqual(work.failures, new Map())
    },
    120_000,
  )

  test('while PgBouncer is restarted', async () => {
    const { url, name } = await freshDatabase()
    await using pgbouncer = await startPgbouncer({ serverPort: portOf(url) })
    const work = await PostgresWork.open({ url: pgbouncer.url(name), directUrl: url })
    await work.during(async () => {
      for (let round = 0; round < 3; round += 1) {
        await work.afterJobs(60)
        await pgbouncer.stop()
        await pgbouncer.start()
      }
      await work.afterJobs(60)
    })
    assert.deepEqual(work.failures, new Map())
  }, 120_000)

  test.each(['lock_timeout', 'statement_timeout'])(
    'while others lock its tables for longer than the %s of the role',
    async (timeout) => {
      const { url, name } = await freshDatabase()
      const role = `hasty_${name}`
      await query(url, `CREATE ROLE ${role} SUPERUSER LOGIN`)
      await query(url, `ALTER ROLE ${role} SET ${timeout} = '100ms'`)
      const hastyUrl = url.replace('postgres@', `${role}@`)
      const locker = new pg.Client({ connectionString: url })
      await locker.connect()
      try {
        const work = await PostgresWork.open({ url: hastyUrl, directUrl: url })
        await work.during(async () => {
          for (const table of ['message', 'queue_count', 'finished_job', 'commit_mark', 'store']) {
            await work.afterJobs(30)
            await locker.query('BEGIN')
            await locker.query(`LOCK TABLE millrace.${table} IN ACCESS EXCLUSIVE MODE`)
            await locker.query('SELECT pg_sleep(0.6)')
            await locker.query('COMMIT')
          }
          await work.afterJobs(30)
        })
        const codes = [...work.failures.keys()]
        assert.deepEqual(
          codes.filter((code) => code !== 'store_busy'),
          [],
        )
      } finally {
        await locker.end()
        await query(url, `REASSIGN OWNED BY ${role} TO postgres; DROP ROLE ${role}`)
      }
    },
    120_000,
  )
})

function portOf(url: string): number {
  return Number(new URL(url).port)
}

/** What a role must be allowed to do in a database, and what a schema may contain. */
import assert from 'node:assert/strict'
import pg from 'pg'
import { afterAll, beforeAll, describe, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { openBackend } from '../../../src/app/open-backend.ts'
import { migrations } from '../../../src/backends/postgres/migrations/index.ts'
import type { ErrorCode } from '../../../src/core/error-codes.ts'
import { type Ports, systemPorts } from '../../../src/core/ports.ts'
import { defineApp, fifo, flow, jobs, open, schedule } from '../../../src/index.ts'
import { readRepositoryFile } from '../../repository/repository-files.ts'
import { type PostgresServer, startPostgresServer } from '../../services/postgres-server.ts'
import { query } from '../../services/query.ts'

/** The blocks of the page: for a new store, and for one that exists. */
const [newStore = '', existingStore = ''] = [
  ...readRepositoryFile('docs/postgres.md').matchAll(/^```sql\n(.*?)^```$/gms),
].map(([, block = '']) => block)

let server: PostgresServer
let databases = 0

beforeAll(async () => {
  server = await startPostgresServer()
})

afterAll(() => server.close())

interface Database {
  readonly name: string
  /** The URL for a role; by default an administrator. */
  url(role?: string): string
  run(statements: string, role?: string): Promise<unknown>
}

async function newDatabase(): Promise<Database> {
  databases += 1
  const name = `shop_${databases}`
  await server.createDatabase(name)
  const url = (role = 'postgres'): string => server.url(name).replace('postgres@', `${role}@`)
  return { name, url, run: (statements, role) => query(url(role), statements) }
}

interface WithRoles extends Database {
  readonly owner: string
  readonly worker: string
  /** Runs a block of the page. Roles belong to the whole server, so each test has its own. */
  follow(block: string): Promise<unknown>
}

async function withRoles(): Promise<WithRoles> {
  const database = await newDatabase()
  const [owner, worker] = [`owner_${databases}`, `worker_${databases}`]
  const follow = (block: string): Promise<unknown> =>
    database.run(block.replaceAll('millrace_owner', owner).replaceAll('millrace_worker', worker))
  return { ...database, owner, worker, follow }
}

async function create(store: string): Promise<void> {
  await (await openBackend({ store, create: true })).backend.close()
}

async function assertRefused(
  store: string,
  { code, message }: { readonly code: ErrorCode; readonly message: RegExp },
): Promise<void> {
  await assert.rejects(openBackend({ store, create: true }), { code, message })
}

const shop = defineApp('shop', {
  queues: {
    orders: jobs({ types: { SHIP: z.number() } }),
    steps: fifo({ deduplication: 'content' }),
    packed: jobs({ types: { PACK: z.number() } }),
  },
  flows: { parcel: flow({ units: 'packed' }) },
  schedules: {
    daily: schedule({ every: '24h', job: { queue: 'orders', type: 'SHIP' }, payload: 1 }),
  },
})

/** Uses all kinds of tables and sequences. */
async function useStore(store: string): Promise<void> {
  await using mill = await open(shop, { store, log: false })
  const handle = { SHIP: (id: number) => id, PACK: () => undefined }
  mill.worker({ poll: ['orders', 'packed'], handle }).start()
  const { id } = await mill.jobs.enqueue('orders', 'SHIP', 17, { idempotencyKey: '17' })
  assert.equal((await mill.jobs.waitFor(id)).status, 'completed')
  await mill.queues.steps.send('first', { group: 'g' })
  const [delivery] = await mill.queues.steps.receive()
  await delivery?.acknowledge()
  await mill.switches.hold({ queue: 'orders' }, { by: 'ann' })
  await mill.ready()
}

describe('the rights on the page', () => {
  test('let the owner create a store, and the worker use it without creating tables', async () => {
    const { url, run, owner, worker, follow } = await withRoles()
    await follow(newStore)
    await assertRefused(url(worker), {
      code: 'store_unusable',
      message:
        /^The role "worker_\d+" may not create tables in the schema "millrace"\. Open the store/,
    })
    await create(url(owner))
    await useStore(url(worker))
    await assert.rejects(run('CREATE TABLE millrace.own ()', worker), { code: '42501' })
  })

  test('let a worker use a store that existed before', async () => {
    const { url, run, worker, follow } = await withRoles()
    await create(url())
    await run(`CREATE ROLE ${worker} LOGIN`)
    await follow(existingStore)
    await useStore(url(worker))
  })

  test('are not enough to update a store, which the error says', async () => {
    const { url, run, owner, worker, follow } = await withRoles()
    await follow(newStore)
    await createOlder(run, owner)
    await assertRefused(url(worker), {
      code: 'store_unusable',
      message: /^The role "worker_\d+" may not change the schema "millrace" from version 1 to \d/,
    })
    await create(url(owner))
    await useStore(url(worker))
  })
})

/** A store that has only the first migration. */
async function createOlder(run: Database['run'], role?: string): Promise<void> {
  await run(
    `SET search_path TO millrace;
    CREATE TABLE schema_version (version INTEGER PRIMARY KEY);
    INSERT INTO schema_version VALUES (1);
    ${migrations[0]}`,
    role,
  )
}

describe('a role is refused', () => {
  test('if it may not create the schema', async () => {
    const { name, url, run } = await newDatabase()
    await run('CREATE ROLE limited LOGIN')
    await assertRefused(url('limited'), {
      code: 'store_unusable',
      message: new RegExp(
        `^The role "limited" may not create the schema "millrace"\\. Run .*: GRANT CREATE ON DATABASE "${name}" TO "limited"$`,
      ),
    })
    await run(`GRANT CREATE ON DATABASE "${name}" TO "limited"`)
    await create(url('limited'))
  })

  test('if it may not use the schema, or one of its tables', async () => {
    const { url, run } = await newDatabase()
    await create(url())
    await run('CREATE ROLE barred LOGIN')
    const { code } = { code: 'store_unusable' } as const
    const refused = (message: RegExp): Promise<void> =>
      assertRefused(url('barred'), { code, message })
    await refused(/^The role "barred" may not use the schema "millrace"\. docs\/postgres\.md lists/)
    await run('GRANT USAGE ON SCHEMA millrace TO barred')
    await refused(/^The role "barred" may not read "millrace"\.schema_version\./)
    await run('GRANT SELECT ON ALL TABLES IN SCHEMA millrace TO barred')
    await refused(/^The role "barred" may not read and write "millrace"\.\w+ and \d+ more\./)
    await run('GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA millrace TO barred')
    await run('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA millrace TO barred')
    await create(url('barred'))
    await run('REVOKE DELETE ON millrace.message FROM barred')
    await refused(/^The role "barred" may not read and write "millrace"\.message\. docs/)
  })

  test('with the same words if it loses a right while the store is open', async () => {
    const { url, run } = await newDatabase()
    await create(url())
    await run(`CREATE ROLE losing LOGIN; ${existingStore.replaceAll('millrace_worker', 'losing')}`)
    await using store = await openBackend({ store: url('losing') })
    await run('REVOKE INSERT ON millrace.queue FROM losing')
    await assert.rejects(store.backend.createQueue({ queue: 'q' }), {
      code: 'store_unusable',
      message: /^The role may not read and write all tables of the store\./,
    })
  })
})

describe('a schema is refused', () => {
  test.each([
    ['a table', 'CREATE TABLE millrace.message (id int)'],
    ['a view', 'CREATE VIEW millrace.queue_total AS SELECT 1'],
    ['a materialized view', 'CREATE MATERIALIZED VIEW millrace.message AS SELECT 1'],
    ['a composite type', 'CREATE TYPE millrace.message AS (id int)'],
    ['an enumeration', "CREATE TYPE millrace.message AS ENUM ('a')"],
    ['versions', 'CREATE TABLE millrace.schema_version (version text, script text)'],
  ])('if another program has %s of the same name in it', async (_what, statement) => {
    const { name, url, run } = await newDatabase()
    await run(`CREATE SCHEMA millrace; ${statement}`)
    await assertRefused(url(), {
      code: 'store_foreign',
      message: new RegExp(
        `^The schema "millrace" of the database "${name}" has tables of another program\\. Choose`,
      ),
    })
  })

  test('if another program has a table with the name of one that an update adds', async () => {
    const { name, url, run } = await newDatabase()
    await run('CREATE SCHEMA millrace')
    await createOlder(run)
    await run('CREATE TABLE millrace.schedule (id int)')
    await assertRefused(url(), {
      code: 'store_foreign',
      message: new RegExp(
        `^The schema "millrace" of the database "${name}" has a table or type of another program with the name of one of Millrace's: relation "schedule" already exists\\. Rename it`,
      ),
    })
    assert.deepEqual(await run('SELECT version FROM millrace.schema_version'), [{ version: 1 }])
  })

  test('if a newer version has written it', async () => {
    const { url, run } = await newDatabase()
    await create(url())
    await run('INSERT INTO millrace.schema_version VALUES (99)')
    await assertRefused(url(), {
      code: 'store_too_new',
      message: /^The schema "millrace" has version 99; this program knows up to \d+\. Upgrade Mill/,
    })
  })
})

describe('a change of the schema', () => {
  test('gives way to a program that uses a table, and tries again', async () => {
    const { url, run } = await newDatabase()
    await run('CREATE SCHEMA millrace')
    await createOlder(run)
    const other = await connected(url())
    await other.query('BEGIN; LOCK TABLE millrace.schema_version IN EXCLUSIVE MODE')
    const { ports, paused } = pausingPorts()
    const opening = openBackend({ store: url(), create: true, ports })
    await paused
    await other.query('ROLLBACK')
    await using store = await opening
    await store.backend.createQueue({ queue: 'q' })
  })

  test('is not bound by the timeouts of the role', async () => {
    const { name, url, run } = await newDatabase()
    await run(`CREATE ROLE hasty LOGIN; GRANT CREATE ON DATABASE "${name}" TO hasty;
      ALTER ROLE hasty SET lock_timeout = '1ms'; ALTER ROLE hasty SET statement_timeout = '10s'`)
    const other = await connected(url())
    // The lock of a program that changes the schema now.
    await other.query('SELECT pg_advisory_lock($1)', [0x4d694c72])
    const opening = openBackend({ store: url('hasty'), create: true })
    const waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    await vi.waitUntil(async () => (await other.query(waiting)).rowCount === 1, 20_000)
    await other.query('SELECT pg_advisory_unlock_all()')
    await (await opening).backend.close()
  })
})

describe('a statement that waits for a lock of another program', () => {
  test.each([
    [
      'statement_timeout',
      '2s',
      /^The database server cancelled a statement\. Its statement_timeout/,
    ],
    ['lock_timeout', '100ms', /^Another process locked the store for too long\./],
  ])('fails as busy if the role has a %s', async (setting, limit, message) => {
    const { name, url, run } = await newDatabase()
    const role = `impatient_${setting}`
    await run(`CREATE ROLE ${role} LOGIN; GRANT CREATE ON DATABASE "${name}" TO ${role}`)
    await using store = await openBackend({ store: url(role), create: true })
    const { backend } = store
    await backend.createQueue({ queue: 'q' })
    await run(`ALTER ROLE ${role} SET ${setting} = '${limit}'`)
    await using impatient = await openBackend({ store: url(role) })
    const other = await connected(url())
    await other.query('BEGIN; LOCK TABLE millrace.message IN ACCESS EXCLUSIVE MODE')
    const send = () => impatient.backend.send({ queue: 'q', messages: [{ body: 'm' }] })
    await assert.rejects(send(), { code: 'store_busy', message })
    await other.query('ROLLBACK')
    assert.equal((await send())[0]?.status, 'created')
  })
})

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

/** Resolves `paused` when a timer has been set. */
function pausingPorts(): { readonly ports: Ports; readonly paused: Promise<void> } {
  const { promise: paused, resolve } = Promise.withResolvers<void>()
  const { timers } = systemPorts
  const after: Ports['timers']['after'] = (...given) => {
    resolve()
    return timers.after(...given)
  }
  return { ports: { ...systemPorts, timers: { ...timers, after } }, paused }
}

import assert from 'node:assert/strict'
import pg from 'pg'
import { describe, onTestFinished, test } from 'vitest'
import type { Backend } from '../../../src/backends/backend.ts'
import type { EnqueuedJob, JobStore, NewJob } from '../../../src/backends/job-store.ts'
import { openPostgres } from '../../../src/backends/postgres/index.ts'
import type { ErrorCode } from '../../../src/core/error-codes.ts'
import { MillraceError } from '../../../src/core/millrace-error.ts'
import { type FreshDatabase, freshDatabase } from '../../services/fresh-database.ts'
import { type CallersLibrary, libraries } from './caller-libraries.ts'

const job: NewJob = { type: 'OCR', payload: '{"page":1}', maxAttempts: 2 }
const idempotency = { key: 'k', lifetimeMs: 60_000 }

interface CallerScene {
  readonly backend: Backend
  readonly jobs: JobStore
  readonly database: FreshDatabase
  /** A client of the caller, who keeps a table of its own in the same database. */
  connect(url?: string): Promise<pg.Client>
  openAnother(): Promise<Backend>
  enqueue(tx: object, ...jobs: readonly Partial<NewJob>[]): Promise<readonly EnqueuedJob[]>
  ready(): Promise<number>
}

async function openScene(): Promise<CallerScene> {
  const database = await freshDatabase()
  const backends: Backend[] = []
  const clients: pg.Client[] = []
  const openAnother = async (): Promise<Backend> => {
    const { backend } = await openPostgres({ url: database.url, connections: 4 })
    backends.push(backend)
    return backend
  }
  const backend = await openAnother()
  const { jobs } = backend
  assert.ok(jobs !== null)
  onTestFinished(async () => {
    for (const client of clients) await client.end()
    for (const opened of backends) await opened.close()
  })
  const connect = async (connectionString = database.url): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString })
    clients.push(client)
    await client.connect()
    return client
  }
  const own = await connect()
  await own.query('CREATE TABLE exam (id TEXT)')
  await backend.createQueue({ queue: 'q' })
  return {
    backend,
    jobs,
    database,
    connect,
    openAnother,
    enqueue: (transaction, ...given) =>
      jobs.enqueueWithin({
        queue: 'q',
        jobs: given.map((changes) => ({ ...job, ...changes })),
        transaction,
      }),
    ready: async () => (await backend.queueStatistics({ queue: 'q' })).ready,
  }
}

async function examsIn(client: pg.Client): Promise<number> {
  return (await client.query('SELECT id FROM exam')).rows.length
}

async function refuses(call: Promise<unknown>, code: ErrorCode, saying = /./): Promise<void> {
  await assert.rejects(call, (error) => {
    assert.ok(error instanceof MillraceError, String(error))
    assert.equal(error.code, code, error.message)
    assert.match(error.message, saying)
    return true
  })
}

describe.each(Object.entries(libraries))("jobs in the caller's transaction, by %s", (_, open) => {
  test('exist with what the caller wrote once it commits, and not after a rollback', async () => {
    const { database, connect, enqueue, jobs, ready } = await openScene()
    const library = await opened(open, database.url)
    const client = await connect()
    let ids: readonly string[] = []
    await library.transact(async ({ tx, insert }) => {
      await insert('e-1')
      const plain = await enqueue(tx, {}, { owner: 'o', payload: '{"text":"\\"{,} $1 ?"}' })
      const keyed = await enqueue(tx, { idempotency, delayMs: 0, tenant: 't', attributes: {} })
      const large = await enqueue(tx, { payload: JSON.stringify('large'.repeat(10_000)) })
      ids = [...plain, ...keyed, ...large].map(({ id }) => id)
      assert.equal(new Set(ids).size, 4)
      const again = await enqueue(tx, { idempotency, tenant: 't', attributes: {} })
      assert.deepEqual(again, [{ status: 'duplicate', id: keyed[0]?.id }])
      assert.equal(await ready(), 0)
    })
    assert.deepEqual([await ready(), await examsIn(client)], [4, 1])
    const read = await Promise.all(ids.map((id) => jobs.read({ id })))
    assert.deepEqual(
      read.map((found) => found?.status),
      ['pending', 'pending', 'pending', 'pending'],
    )
    assert.equal(read[1]?.payload, '{"text":"\\"{,} $1 ?"}')
    assert.equal(read[3]?.payload.length, 50_002)
    const failure = new Error('the caller changes its mind')
    const undone = library.transact(async ({ tx, insert }) => {
      await insert('e-2')
      await enqueue(tx, {})
      throw failure
    })
    await assert.rejects(undone, failure)
    assert.deepEqual([await ready(), await examsIn(client)], [4, 1])
  })

  test('leave it as it was if they are refused', async () => {
    const { database, connect, enqueue, jobs, ready } = await openScene()
    await jobs.enqueue({ queue: 'q', jobs: [{ ...job, idempotency }] })
    const library = await opened(open, database.url)
    await library.transact(async ({ tx, insert }) => {
      await insert('e-1')
      const other = { payload: '{"page":2}', idempotency }
      await refuses(enqueue(tx, {}, other), 'idempotency_conflict')
      const elsewhere = { queue: 'nowhere', jobs: [job], transaction: tx }
      await refuses(jobs.enqueueWithin(elsewhere), 'queue_not_found')
      await insert('e-2')
    })
    assert.deepEqual([await ready(), await examsIn(await connect())], [1, 2])
  })

  test('need one: without it they are refused', async () => {
    const { database, enqueue, ready } = await openScene()
    const library = await opened(open, database.url)
    await refuses(enqueue(library.outside, {}), 'invalid_argument', /without a transaction/)
    assert.equal(await ready(), 0)
  })
})

async function opened(
  open: (url: string) => Promise<CallersLibrary>,
  url: string,
): Promise<CallersLibrary> {
  const library = await open(url)
  onTestFinished(() => library.close())
  return library
}

describe("jobs in the caller's own transaction", () => {
  test('wake a receive that waits in another process when it commits', async () => {
    const { openAnother, connect, enqueue } = await openScene()
    const [other, client] = [await openAnother(), await connect()]
    const receiving = other.receive({ queue: 'q', max: 1, waitMs: 20_000 })
    await client.query('BEGIN')
    const [enqueued] = await enqueue(client, {})
    await client.query('COMMIT')
    assert.deepEqual(
      (await receiving).map(({ id }) => id),
      [enqueued?.id],
    )
  })

  test('are told to other processes by the commit itself', async () => {
    const { connect, enqueue } = await openScene()
    const [client, listener] = [await connect(), await connect()]
    const heard = new Promise<string | undefined>((resolve) => {
      listener.on('notification', ({ payload }) => resolve(payload))
    })
    await listener.query('LISTEN "millrace:millrace"')
    await client.query('BEGIN')
    await enqueue(client, {})
    await client.query('COMMIT')
    assert.equal(await heard, '["",["q"],["q"]]')
  })

  test('do not keep other transactions of the store waiting', async () => {
    const { backend, jobs, connect, enqueue, ready } = await openScene()
    const clients = [await connect(), await connect(), await connect()]
    for (const client of clients) {
      await client.query('BEGIN')
      await enqueue(client, {})
    }
    // Would wait for a row or a lock that an open transaction has.
    await jobs.enqueue({ queue: 'q', jobs: [job] })
    const [delivery] = await backend.receive({ queue: 'q', max: 10 })
    assert.ok(delivery !== undefined)
    const { receipt } = delivery
    const outcome = { kind: 'acknowledge' } as const
    const [settled] = await backend.settle({ queue: 'q', settlements: [{ receipt, outcome }] })
    assert.equal(settled?.status, 'settled')
    for (const client of clients) await client.query('COMMIT')
    assert.equal(await ready(), 3)
  })

  test('follow the savepoints of the caller', async () => {
    const { connect, enqueue, ready } = await openScene()
    const client = await connect()
    await client.query('BEGIN')
    await enqueue(client, {})
    await client.query('SAVEPOINT mine')
    await enqueue(client, {}, {})
    await client.query('ROLLBACK TO mine')
    await enqueue(client, {})
    await client.query('COMMIT')
    assert.equal(await ready(), 2)
  })

  test('may be enqueued side by side, and only those that are refused are missing', async () => {
    const { connect, enqueue, ready } = await openScene()
    const client = await connect()
    await client.query('BEGIN')
    const conflicting = [{ idempotency }, { idempotency, payload: '{"page":2}' }]
    const results = await Promise.allSettled([
      enqueue(client, {}),
      enqueue(client, ...conflicting),
      enqueue(client, {}),
    ])
    await client.query('COMMIT')
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.equal(await ready(), 2)
  })

  test('see the queues as they are now', async () => {
    const { backend, openAnother, connect, enqueue, ready } = await openScene()
    const [other, client] = [await openAnother(), await connect()]
    await client.query('BEGIN')
    await enqueue(client, {})
    await client.query('ROLLBACK')
    await other.deleteQueue({ queue: 'q' })
    await client.query('BEGIN')
    await refuses(enqueue(client, {}), 'queue_not_found')
    await client.query('ROLLBACK')
    await other.createQueue({ queue: 'q', settings: { delayMs: 60_000 } })
    await client.query('BEGIN')
    await enqueue(client, {})
    await client.query('COMMIT')
    assert.equal(await ready(), 0)
    assert.equal((await backend.queueStatistics({ queue: 'q' })).delayed, 1)
  })

  test('must begin again if it has a snapshot from before a change of the queues', async () => {
    const { backend, connect, enqueue, ready } = await openScene()
    const client = await connect()
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await enqueue(client, {})
    await backend.changeQueue({ queue: 'q', changes: { delayMs: 1_000 } })
    await refuses(enqueue(client, {}), 'store_busy', /begin again/)
    await client.query('ROLLBACK')
    await backend.changeQueue({ queue: 'q', changes: { delayMs: 0 } })
    await client.query('BEGIN ISOLATION LEVEL SERIALIZABLE')
    await enqueue(client, {})
    await client.query('COMMIT')
    assert.equal(await ready(), 1)
  })

  test('are stored at every isolation, also if others have changed the counts meanwhile', async () => {
    const { connect, enqueue, ready } = await openScene()
    const [client, other] = [await connect(), await connect()]
    const enqueueAlone = async (): Promise<void> => {
      await other.query('BEGIN')
      await enqueue(other, {})
      await other.query('COMMIT')
    }
    await enqueueAlone()
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    assert.equal(await examsIn(client), 0)
    await enqueueAlone()
    await enqueue(client, {})
    await client.query('COMMIT')
    assert.equal(await ready(), 3)
  })

  test('keep their order in a FIFO queue, which waits for the commit', async () => {
    const { backend, jobs, connect } = await openScene()
    await backend.createQueue({ queue: 'f.fifo', settings: { type: 'fifo' } })
    const client = await connect()
    const inOrder = (page: number): NewJob => ({
      ...job,
      payload: `{"page":${page}}`,
      tenant: 'g',
      deduplicationId: `${page}`,
    })
    await client.query('BEGIN')
    const first = { queue: 'f.fifo', jobs: [inOrder(1)], transaction: client }
    await jobs.enqueueWithin(first)
    const second = jobs.enqueue({ queue: 'f.fifo', jobs: [inOrder(2)] })
    await client.query('COMMIT')
    await second
    const deliveries = await backend.receive({ queue: 'f.fifo', max: 10 })
    assert.deepEqual(
      deliveries.map(({ body }) => body),
      ['{"page":1}', '{"page":2}'],
    )
  })

  test('are stored through a pooler that shares connections', async () => {
    const { database, connect, enqueue, ready } = await openScene()
    const client = await connect(database.pgbouncerUrl)
    await client.query('BEGIN')
    await enqueue(client, {}, {})
    await client.query('COMMIT')
    assert.equal(await ready(), 2)
  })
})

describe('a transaction that jobs are to be stored in', () => {
  test('must be one, open, unharmed and in the database of the store', async () => {
    const { backend, database, connect, enqueue, ready } = await openScene()
    const refusesIt = (tx: object, saying: RegExp): Promise<void> =>
      refuses(enqueue(tx, {}), 'invalid_argument', saying)
    await refusesIt(
      {},
      /transaction: got another value, expected a transaction of pg, postgres\.js/,
    )
    const client = await connect()
    await refusesIt(client, /without a transaction/)
    await client.query('BEGIN')
    await assert.rejects(client.query('SELECT 1 / 0'))
    await refusesIt(client, /a transaction that has failed/)
    await client.query('ROLLBACK')
    const pool = new pg.Pool({ connectionString: database.url, max: 1 })
    await refusesIt(pool, /without a transaction/)
    await pool.end()
    await refusesIt(pool, /a transaction that has ended/)
    const { name, url } = await freshDatabase()
    const copy = await openPostgres({ url })
    onTestFinished(() => copy.backend.close())
    const elsewhere = new pg.Client({ connectionString: url })
    onTestFinished(() => elsewhere.end())
    await elsewhere.connect()
    await elsewhere.query('BEGIN')
    await refusesIt(elsewhere, new RegExp(`to the database ${name}, expected .* ${database.name},`))
    // It can go on.
    await elsewhere.query('SELECT 1')
    assert.equal(await ready(), 0)
    await client.query('BEGIN')
    await backend.close()
    await refuses(enqueue(client, {}), 'store_closed')
  })

  test('must have the rights that the store needs', async () => {
    const { connect, enqueue } = await openScene()
    const client = await connect()
    await client.query('BEGIN')
    await client.query('CREATE ROLE millrace_test_guest')
    await client.query('SET LOCAL ROLE millrace_test_guest')
    await refuses(enqueue(client, {}), 'invalid_argument', /without rights to the schema millrace/)
    await client.query('ROLLBACK')
  })
})

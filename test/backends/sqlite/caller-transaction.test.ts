import assert from 'node:assert/strict'
import { linkSync, symlinkSync } from 'node:fs'
import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite'
import { describe, onTestFinished, test } from 'vitest'
import type { Backend } from '../../../src/backends/backend.ts'
import type { EnqueuedJob, JobStore, NewJob } from '../../../src/backends/job-store.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import type { ErrorCode } from '../../../src/core/error-codes.ts'
import { MillraceError } from '../../../src/core/millrace-error.ts'
import { type Ports, systemPorts } from '../../../src/core/ports.ts'
import { virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { ChildProgram } from '../../support/child-program.ts'
import { assertSoundStore } from '../../support/store-inspection.ts'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'

const job: NewJob = { type: 'OCR', payload: '{"page":1}', maxAttempts: 2 }

interface CallerScene {
  readonly backend: Backend
  readonly jobs: JobStore
  readonly folder: TemporaryFolder
  readonly file: string
  /** A connection of the caller, who keeps a table of its own in the same file. */
  connect(options?: DatabaseSyncOptions): DatabaseSync
  enqueue(db: object, ...jobs: readonly Partial<NewJob>[]): Promise<readonly EnqueuedJob[]>
  ready(): Promise<number>
}

async function openScene(ports: Ports = systemPorts): Promise<CallerScene> {
  const folder = await temporaryFolder('caller')
  const file = folder.file('store.db')
  const backend = await openSqlite({ file, ports })
  const { jobs } = backend
  assert.ok(jobs !== null)
  await backend.createQueue({ queue: 'q' })
  const connections: DatabaseSync[] = []
  onTestFinished(async () => {
    for (const db of connections) if (db.isOpen) db.close()
    await backend.close()
    assertSoundStore(file)
    await folder.remove()
  })
  return {
    backend,
    jobs,
    folder,
    file,
    connect(options = {}) {
      const db = new DatabaseSync(file, options)
      connections.push(db)
      db.exec('CREATE TABLE IF NOT EXISTS exam (id TEXT)')
      return db
    },
    enqueue: (db, ...given) =>
      jobs.enqueueWithin({
        queue: 'q',
        jobs: given.map((changes) => ({ ...job, ...changes })),
        transaction: db,
      }),
    ready: async () => (await backend.queueStatistics({ queue: 'q' })).ready,
  }
}

function examsIn(db: DatabaseSync): number {
  return db.prepare('SELECT id FROM exam').all().length
}

function refuses(run: () => unknown, code: ErrorCode, saying = /./): void {
  assert.throws(run, (error) => {
    assert.ok(error instanceof MillraceError, String(error))
    assert.equal(error.code, code)
    assert.match(error.message, saying)
    return true
  })
}

describe("jobs in the caller's own transaction", () => {
  test('do not expire after the first one of the queue was rolled back', async () => {
    const ports = virtualPorts()
    const { backend, connect, enqueue, ready } = await openScene(ports)
    const retentionMs = 60_000
    await backend.changeQueue({ queue: 'q', changes: { retentionMs } })
    const db = connect()
    db.exec('BEGIN')
    enqueue(db, {})
    enqueue(db, {})
    db.exec('ROLLBACK')
    await backend.changeQueue({ queue: 'q', changes: { visibilityMs: 1_000 } })
    db.exec('BEGIN')
    enqueue(db, {})
    db.exec('COMMIT')
    await backend.send({ queue: 'q', messages: [{ body: 'plain' }] })
    assert.equal(await ready(), 2)
    await ports.clock.advance(retentionMs)
    assert.equal(await ready(), 1)
    while ((await backend.sweep()).more);
    const { items } = await backend.peek({ queue: 'q', state: 'ready', limit: 10 })
    assert.deepEqual(
      items.map(({ body }) => body),
      [job.payload],
    )
  })

  test('exist together with what the caller wrote, once it commits', async () => {
    const { connect, enqueue, jobs, ready } = await openScene()
    const db = connect()
    db.exec("BEGIN; INSERT INTO exam VALUES ('e-1')")
    const [first, second] = await enqueue(db, {}, { payload: '"large"'.repeat(1_000) })
    assert.equal(first?.status, 'created')
    assert.equal(await jobs.read({ id: first.id }), undefined)
    assert.equal(await ready(), 0)
    db.exec('COMMIT')
    assert.equal((await jobs.read({ id: first.id }))?.status, 'pending')
    assert.equal((await jobs.read({ id: second?.id ?? '' }))?.payload.length, 7_000)
    assert.deepEqual([await ready(), examsIn(db)], [2, 1])
  })

  test('are undone with it by a rollback, and the store goes on as if nothing had been', async () => {
    const { backend, connect, enqueue, jobs, ready } = await openScene()
    const db = connect()
    db.exec("BEGIN; INSERT INTO exam VALUES ('e-1')")
    const [undone] = await enqueue(db, { idempotency: { key: 'k', lifetimeMs: 60_000 } })
    db.exec('ROLLBACK')
    assert.deepEqual([await ready(), examsIn(db)], [0, 0])
    assert.equal(await jobs.read({ id: undone?.id ?? '' }), undefined)
    const idempotency = { key: 'k', lifetimeMs: 60_000 }
    const again = await jobs.enqueue({ queue: 'q', jobs: [{ ...job, idempotency }] })
    assert.equal(again[0]?.status, 'created')
    assert.equal((await backend.receive({ queue: 'q', max: 10 })).length, 1)
  })

  test('follow the savepoints of the caller', async () => {
    const { connect, enqueue, ready } = await openScene()
    const db = connect()
    db.exec('BEGIN')
    enqueue(db, {})
    db.exec('SAVEPOINT mine')
    enqueue(db, {}, {})
    db.exec('ROLLBACK TO mine')
    enqueue(db, {})
    db.exec('RELEASE mine; COMMIT')
    assert.equal(await ready(), 2)
  })

  test('are stored all or not at all, whatever the caller does after a refusal', async () => {
    const { connect, enqueue, jobs, ready } = await openScene()
    const idempotency = { key: 'k', lifetimeMs: 60_000 }
    await jobs.enqueue({ queue: 'q', jobs: [{ ...job, idempotency }] })
    const db = connect()
    db.exec("BEGIN; INSERT INTO exam VALUES ('e-1')")
    const other = { payload: '{"page":2}', idempotency }
    refuses(() => enqueue(db, {}, other), 'idempotency_conflict')
    refuses(() => enqueue(db, { payload: '' }), 'invalid_argument')
    refuses(() => enqueue(db, { maxAttempts: 0 }), 'invalid_argument')
    const elsewhere = { queue: 'nowhere', jobs: [job], transaction: db }
    refuses(() => jobs.enqueueWithin(elsewhere), 'queue_not_found')
    assert.equal((await enqueue(db, { idempotency }))[0]?.status, 'duplicate')
    db.exec('COMMIT')
    assert.deepEqual([await ready(), examsIn(db)], [1, 1])
  })

  test('see the queues as they are now', async () => {
    const { backend, connect, enqueue, ready } = await openScene()
    const db = connect()
    db.exec('BEGIN')
    enqueue(db, {})
    db.exec('ROLLBACK')
    await backend.deleteQueue({ queue: 'q' })
    db.exec('BEGIN')
    refuses(() => enqueue(db, {}), 'queue_not_found')
    db.exec('ROLLBACK')
    await backend.createQueue({ queue: 'q', settings: { delayMs: 60_000 } })
    db.exec('BEGIN')
    enqueue(db, {})
    db.exec('COMMIT')
    assert.equal(await ready(), 0)
    assert.equal((await backend.queueStatistics({ queue: 'q' })).delayed, 1)
  })

  test('wake a waiting receive soon after they are committed', async () => {
    const ports = virtualPorts()
    const { backend, connect, enqueue } = await openScene(ports)
    const db = connect()
    const received: string[] = []
    const receiving = backend
      .receive({ queue: 'q', max: 1, waitMs: 20_000 })
      .then((deliveries) => received.push(...deliveries.map(({ id }) => id)))
    db.exec('BEGIN')
    const [enqueued] = await enqueue(db, {})
    await ports.clock.advance(50)
    assert.deepEqual(received, [])
    db.exec('COMMIT')
    // The next poll for changes by others would come later than this.
    await ports.clock.advance(10)
    assert.deepEqual(received, [enqueued?.id])
    await receiving
  })

  test('are not watched for ever, and not at all once the store is closed', async () => {
    const ports = virtualPorts()
    const { backend, connect, enqueue } = await openScene(ports)
    const [forgotten, open] = [connect(), connect()]
    forgotten.exec('BEGIN')
    enqueue(forgotten, {})
    await ports.clock.advance(60_000)
    assert.equal(ports.clock.pendingTimers, 0)
    forgotten.exec('ROLLBACK')
    open.exec('BEGIN')
    enqueue(open, {})
    await ports.clock.advance(10)
    assert.equal(ports.clock.pendingTimers, 1)
    await backend.close()
    assert.equal(ports.clock.pendingTimers, 0)
  })

  test('are gone when the process dies before the commit, and there when it dies after', async () => {
    const { file, backend, connect, ready } = await openScene()
    const db = connect()
    const program = new URL('./caller-transaction.child.ts', import.meta.url)
    for (const end of ['open', 'committed'] as const) {
      const child = new ChildProgram(program, { file, end })
      await child.next('enqueued')
      await child.kill()
      const expected = end === 'open' ? 0 : 1
      assert.deepEqual([await ready(), examsIn(db)], [expected, expected], end)
    }
    assert.equal((await backend.receive({ queue: 'q', max: 10 })).length, 1)
  })
})

describe('a connection that jobs are to be stored on', () => {
  test('must be an open one, to this very file, with a transaction', async () => {
    const { connect, enqueue, folder } = await openScene()
    const refusesConnection = (db: object, saying: RegExp): void =>
      refuses(() => enqueue(db, {}), 'invalid_argument', saying)
    refusesConnection({}, /transaction: got another value, expected a DatabaseSync/)
    const db = connect()
    refusesConnection(db, /without a transaction.*BEGIN/)
    db.close()
    refusesConnection(db, /closed connection/)
    const elsewhere = new DatabaseSync(folder.file('other.db'))
    elsewhere.exec('BEGIN')
    refusesConnection(elsewhere, /other\.db, expected one to the file of this store, .*store\.db/)
    elsewhere.close()
    const nowhere = new DatabaseSync(':memory:')
    nowhere.exec('BEGIN')
    refusesConnection(nowhere, /no file/)
    nowhere.close()
  })

  test('may know the file by another path, but not by another name', async () => {
    const { enqueue, file, folder, ready } = await openScene()
    symlinkSync(folder.path, folder.file('link'))
    const linked = new DatabaseSync(folder.file('link/store.db'))
    linked.exec('BEGIN')
    enqueue(linked, {})
    linked.exec('COMMIT')
    linked.close()
    assert.equal(await ready(), 1)
    // SQLite keeps its log beside each name of a file, so two names are two databases.
    linkSync(file, folder.file('twin.db'))
    const twin = new DatabaseSync(folder.file('twin.db'))
    twin.exec('BEGIN')
    refuses(() => enqueue(twin, {}), 'invalid_argument', /twin\.db/)
    twin.close()
  })

  test('may answer its own statements in its own way', async () => {
    const { connect, enqueue, ready } = await openScene()
    const db = connect({ readBigInts: true, returnArrays: true })
    for (let count = 0; count < 2; count += 1) {
      db.exec('BEGIN')
      enqueue(db, { idempotency: { key: `k-${count}`, lifetimeMs: 60_000 } })
      db.exec('COMMIT')
    }
    assert.equal(await ready(), 2)
    assert.deepEqual(db.prepare('SELECT 1').get(), [1n])
  })

  test('may be closed and opened again', async () => {
    const { connect, enqueue, ready } = await openScene()
    const db = connect()
    for (let count = 0; count < 2; count += 1) {
      db.exec('BEGIN')
      enqueue(db, {})
      db.exec('COMMIT')
      db.close()
      db.open()
    }
    assert.equal(await ready(), 2)
  })

  test('is told when another one writes, and can go on afterwards', async () => {
    const { connect, enqueue, ready } = await openScene()
    const [db, other] = [connect({ timeout: 1 }), connect()]
    db.exec('BEGIN')
    other.exec("BEGIN IMMEDIATE; INSERT INTO exam VALUES ('e-1')")
    refuses(() => enqueue(db, {}), 'store_busy')
    assert.ok(db.isTransaction)
    other.exec('COMMIT')
    enqueue(db, {})
    db.exec('COMMIT')
    assert.equal(await ready(), 1)
  })

  test('that has read what is out of date by now is told to begin again', async () => {
    const { connect, enqueue, ready } = await openScene()
    const [db, other] = [connect({ timeout: 1 }), connect()]
    db.exec('BEGIN')
    assert.equal(examsIn(db), 0)
    other.exec("INSERT INTO exam VALUES ('e-1')")
    refuses(() => enqueue(db, {}), 'store_busy', /BEGIN IMMEDIATE/)
    db.exec('ROLLBACK; BEGIN IMMEDIATE')
    enqueue(db, {})
    db.exec('COMMIT')
    assert.equal(await ready(), 1)
  })

  test('keeps the lock until its end, and others wait for it', async () => {
    const { connect, enqueue, jobs, ready } = await openScene()
    const db = connect()
    db.exec('BEGIN')
    enqueue(db, {})
    const waiting = jobs.enqueue({ queue: 'q', jobs: [job] })
    await new Promise((resolve) => setImmediate(resolve))
    enqueue(db, {})
    db.exec('COMMIT')
    await waiting
    assert.equal(await ready(), 3)
  })

  test('is refused once the store is closed', async () => {
    const { backend, connect, enqueue } = await openScene()
    const db = connect()
    db.exec('BEGIN')
    await backend.close()
    refuses(() => enqueue(db, {}), 'store_closed')
  })
})

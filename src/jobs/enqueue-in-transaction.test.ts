import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { academy, openJobs } from '../../test/support/jobs-scene.ts'
import { temporaryFolder } from '../../test/support/temporary-folder.ts'
import { type Mill, open } from '../app/open.ts'
import { type App, defineApp } from '../contracts/define-app.ts'
import { jobs } from '../contracts/jobs-declaration.ts'

interface TransactionScene<Opened extends App> {
  readonly mill: Mill<Opened>
  /** A connection of the caller with a transaction that it has begun. */
  readonly db: DatabaseSync
}

async function openWithTransaction<Opened extends App>(
  app: Opened,
): Promise<TransactionScene<Opened>> {
  const folder = await temporaryFolder('transaction')
  const mill = await open(app, { data: folder.path })
  assert.ok(mill.storeFile !== null)
  const db = new DatabaseSync(mill.storeFile)
  db.exec('CREATE TABLE exam (id TEXT); BEGIN IMMEDIATE')
  onTestFinished(async () => {
    db.close()
    await mill.close()
    await folder.remove()
  })
  return { mill, db }
}

describe('enqueueing in a transaction of the caller', () => {
  test('stores the job before the call returns, so that the caller may commit at once', async () => {
    const { mill, db } = await openWithTransaction(academy)
    db.exec("INSERT INTO exam VALUES ('e-1')")
    const enqueuing = mill.jobs.enqueue('basic', 'OCR', { examId: 'e-1' }, { tx: db, owner: 'u' })
    db.exec('COMMIT')
    const { status, id } = await enqueuing
    assert.equal(status, 'created')
    const job = await mill.jobs.get(id)
    assert.deepEqual([job?.status, job?.owner, job?.payload], ['pending', 'u', { examId: 'e-1' }])
  })

  test('stores nothing when the caller rolls back', async () => {
    const { mill, db } = await openWithTransaction(academy)
    const enqueuing = mill.jobs.enqueue('basic', 'OCR', { examId: 'e-1' }, { tx: db })
    db.exec('ROLLBACK')
    assert.equal(await mill.jobs.get((await enqueuing).id), undefined)
    assert.equal((await mill.queues.basic.statistics()).ready, 0)
  })

  test('stores many jobs together, or none', async () => {
    const { mill, db } = await openWithTransaction(academy)
    const entry = { type: 'OCR', payload: { examId: 'e-1' } } as const
    const wrong = { type: 'OCR', payload: {} as { examId: string } } as const
    assert.throws(() => mill.jobs.enqueueMany('basic', [entry, wrong], { tx: db }), {
      code: 'invalid_message',
      message: 'jobs[1].payload.examId: got nothing, expected string',
    })
    const enqueuing = mill.jobs.enqueueMany('basic', [entry, { type: 'OMR', payload: 1 }], {
      tx: db,
    })
    db.exec('COMMIT')
    assert.equal((await enqueuing).length, 2)
    assert.equal((await mill.queues.basic.statistics()).ready, 2)
    assert.deepEqual(await mill.jobs.enqueueMany('basic', [], { tx: db }), [])
  })

  test('takes back with a rollback what a debounce has replaced', async () => {
    const { mill, db } = await openWithTransaction(academy)
    const debounce = { key: 'k', window: '1m' } as const
    const scan = (examId: string): Promise<{ readonly id: string }> =>
      mill.jobs.enqueue('basic', 'OCR', { examId }, { tx: db, debounce })
    const first = scan('e-1')
    db.exec('COMMIT; BEGIN IMMEDIATE')
    const { id } = await first
    const replaced = scan('e-2')
    db.exec('ROLLBACK; BEGIN IMMEDIATE')
    assert.equal((await replaced).id, id)
    assert.deepEqual((await mill.jobs.get(id))?.payload, { examId: 'e-1' })
    const last = scan('e-3')
    db.exec('COMMIT')
    assert.deepEqual(await last, { status: 'coalesced', id })
    assert.deepEqual((await mill.jobs.get(id))?.payload, { examId: 'e-3' })
  })

  test('refuses an asynchronous schema, because a transaction cannot wait', async () => {
    const slow = z.string().refine(async (text) => text !== '')
    const app = defineApp('slow', { queues: { work: jobs({ types: { SLOW: slow } }) } })
    const { mill, db } = await openWithTransaction(app)
    assert.throws(() => mill.jobs.enqueue('work', 'SLOW', 'x', { tx: db }), {
      code: 'invalid_argument',
      message: /^payload: got an asynchronous schema, expected a synchronous schema/,
    })
    db.exec('COMMIT')
    assert.equal((await mill.jobs.enqueue('work', 'SLOW', 'x')).status, 'created')
    assert.equal((await mill.queues.work.statistics()).ready, 1)
  })

  test('throws what it refuses at once, so that the caller does not commit', async () => {
    const { mill, db } = await openWithTransaction(academy)
    const wrong = {} as { examId: string }
    assert.throws(() => mill.jobs.enqueue('basic', 'OCR', wrong, { tx: db }), {
      code: 'invalid_message',
    })
    const elsewhere = mill.jobs as unknown as { enqueue(...values: unknown[]): unknown }
    assert.throws(() => elsewhere.enqueue('none', 'OCR', {}, { tx: db }), {
      code: 'invalid_argument',
    })
    db.exec('ROLLBACK')
    assert.throws(() => mill.jobs.enqueue('basic', 'OMR', 1, { tx: db }), {
      code: 'invalid_argument',
      message: /without a transaction/,
    })
  })
})

describe('the file of a store', () => {
  test('is not known of a backend that the caller brought', async () => {
    const { mill } = await openJobs()
    assert.equal(mill.storeFile, null)
  })
})

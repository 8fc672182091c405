import assert from 'node:assert/strict'
import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest'
import { type FreshDatabase, freshDatabase, sharedServices } from './fresh-database.ts'
import { query } from './query.ts'

const ofTheFile = await freshDatabase()
let ofTheHook: FreshDatabase
let ofEachTest: FreshDatabase
let ofTheTestBefore: readonly FreshDatabase[] = []

beforeAll(async () => {
  ofTheHook = await freshDatabase()
})

beforeEach(async () => {
  ofEachTest = await freshDatabase()
})

// Hooks run in reverse order, so the databases still exist here.
afterAll(async () => {
  assert.deepEqual(await existing([ofTheFile, ofTheHook]), [true, true])
})

describe('a fresh database', () => {
  test('is empty, and the same one directly and through PgBouncer', async () => {
    const ofATest = await freshDatabase()
    const tables = `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`
    assert.deepEqual(await query(ofATest.url, tables), [])
    await query(ofATest.url, 'CREATE TABLE mine AS SELECT 1 AS value')
    assert.deepEqual(await query(ofATest.pgbouncerUrl, 'TABLE mine'), [{ value: 1 }])
    assert.deepEqual(await query(ofTheFile.url, tables), [])
    ofTheTestBefore = [ofATest, ofEachTest]
    assert.deepEqual(await existing(ofTheTestBefore), [true, true])
  })

  test('is dropped with the test, and not before the file has ended outside of tests', async () => {
    assert.deepEqual(await existing(ofTheTestBefore), [false, false])
    assert.deepEqual(await existing([ofEachTest, ofTheFile, ofTheHook]), [true, true, true])
  })

  test('can be the copy of a template', async () => {
    await query(ofTheFile.url, 'CREATE TABLE copied AS SELECT 2 AS value')
    const copy = await freshDatabase({ template: ofTheFile.name })
    assert.deepEqual(await query(copy.url, 'TABLE copied'), [{ value: 2 }])
  })

  test('can be created by many tests at once', async () => {
    const databases = await Promise.all(Array.from({ length: 10 }, () => freshDatabase()))
    assert.equal(new Set(databases.map(({ name }) => name)).size, 10)
    assert.ok((await existing(databases)).every(Boolean))
  })
})

async function existing(databases: readonly FreshDatabase[]): Promise<readonly boolean[]> {
  const { postgresUrl } = await sharedServices()
  const rows = await query<{ datname: string }>(postgresUrl, 'SELECT datname FROM pg_database')
  return databases.map(({ name }) => rows.some(({ datname }) => datname === name))
}

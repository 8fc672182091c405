import assert from 'node:assert/strict'
import { Client } from 'pg'
import { describe, onTestFinished, test } from 'vitest'
import {
  type CommitFault,
  type CommitProxy,
  prepareForCommitFaults,
  startCommitProxy,
} from './commit-proxy.ts'
import { freshDatabase } from './fresh-database.ts'
import { query } from './query.ts'

const lost = /Connection terminated/

describe('a proxy that fails at commits', () => {
  test.each<[CommitFault, object | RegExp, readonly object[]]>([
    ['cut before', lost, []],
    ['cut after', lost, [{ value: 1 }]],
    ['terminated', { code: '57P01' }, [{ value: 1 }]],
    ['conflict', { code: '40001' }, []],
    ['refused', { code: '58030' }, []],
  ])('lets a transaction meet: %s', async (fault, error, kept) => {
    const { url, proxy, client } = await clientThroughProxy()
    await client.query('BEGIN')
    await client.query('INSERT INTO sent VALUES ($1)', [1])
    const isMet = proxy.faultNext(fault)
    assert.ok(!isMet())
    await assert.rejects(client.query('COMMIT'), error)
    assert.ok(isMet())
    assert.deepEqual(await query(url, 'TABLE sent'), kept)
  })

  test.each<[CommitFault, object | RegExp, readonly object[]]>([
    ['cut before', lost, []],
    ['cut after', lost, [{ value: 1 }]],
    ['refused', { code: '58030' }, []],
  ])('lets a statement outside of a transaction meet: %s', async (fault, error, kept) => {
    const { url, proxy, client } = await clientThroughProxy()
    const isMet = proxy.faultNext(fault)
    await client.query('SELECT * FROM sent FOR UPDATE')
    assert.ok(!isMet())
    const insert = { name: 'insert', text: 'INSERT INTO sent VALUES ($1)', values: [1] }
    await assert.rejects(client.query(insert), error)
    assert.deepEqual(await query(url, 'TABLE sent'), kept)
  })

  test('changes statements on their way', async () => {
    const { proxy, client } = await clientThroughProxy()
    proxy.rewrite = (text) => text.replace('one', 'eleven')
    const plain = await client.query("SELECT 'one' AS value")
    const prepared = await client.query("SELECT 'one' AS value, $1 AS given", ['one'])
    assert.deepEqual(plain.rows, [{ value: 'eleven' }])
    assert.deepEqual(prepared.rows, [{ value: 'eleven', given: 'one' }])
  })

  test('leaves a connection usable whose commit was refused', async () => {
    const { url, proxy, client } = await clientThroughProxy()
    for (const isRefused of [true, false]) {
      await client.query('BEGIN')
      await client.query('INSERT INTO sent VALUES ($1)', [1])
      if (!isRefused) break
      proxy.faultNext('refused')
      await assert.rejects(client.query('COMMIT'))
    }
    assert.equal((await client.query('COMMIT')).command, 'COMMIT')
    assert.deepEqual(await query(url, 'TABLE sent'), [{ value: 1 }])
  })
})

interface Scene {
  readonly url: string
  readonly proxy: CommitProxy
  readonly client: Client
}

async function clientThroughProxy(): Promise<Scene> {
  const { url } = await freshDatabase()
  await prepareForCommitFaults(url)
  await query(url, 'CREATE TABLE sent (value int)')
  const proxy = await startCommitProxy(Number(new URL(url).port))
  onTestFinished(() => proxy.close())
  const client = new Client(proxy.url(url))
  client.on('error', () => {})
  await client.connect()
  return { url, proxy, client }
}

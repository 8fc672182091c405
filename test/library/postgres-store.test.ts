import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import pg from 'pg'
import { afterEach, describe, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { restoreBackend } from '../../src/app/open-backend.ts'
import { defineApp, jobs, type Mill, type OpenOptions, open, queue } from '../../src/index.ts'
import { postgres } from '../../src/postgres.ts'
import { freshDatabase } from '../services/fresh-database.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const shop = defineApp('shop', {
  queues: {
    orders: queue({ schema: z.object({ id: z.number() }) }),
    work: jobs({ types: { PRINT: { schema: z.string(), result: z.string() } } }),
  },
})

afterEach(() => vi.unstubAllEnvs())

async function opened(options: OpenOptions): Promise<Mill<typeof shop>> {
  const mill = await open(shop, { log: false, ...options })
  onTestFinished(() => mill.close())
  return mill
}

async function printed(mill: Mill<typeof shop>, text: string): Promise<unknown> {
  const worker = mill.worker({ poll: ['work'], handle: { PRINT: (given) => `printed ${given}` } })
  worker.start()
  const { id } = await mill.jobs.enqueue('work', 'PRINT', text)
  const { result } = await mill.jobs.waitFor(id)
  await worker.stop()
  return result
}

async function query(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

async function schemasIn(url: string): Promise<readonly unknown[]> {
  const rows = await query(
    url,
    `SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema|public)'`,
  )
  return rows.map(({ nspname }) => nspname).sort()
}

describe('an app on Postgres', () => {
  test('runs jobs, keeps them after it is closed, and has no file', async () => {
    const { url } = await freshDatabase()
    const first = await opened({ store: postgres(url) })
    assert.equal(first.storeFile, null)
    assert.equal(await printed(first, 'a page'), 'printed a page')
    await first.queues.orders.send({ id: 7 })
    await first.ready()
    await first.close()
    const second = await opened({ store: postgres(url) })
    assert.deepEqual(await second.queues.orders.receive().then(([one]) => one?.message), { id: 7 })
    assert.deepEqual(await schemasIn(url), ['millrace'])
  })

  test('is opened by a URL alone, as an option or in MILLRACE_STORE', async () => {
    const { url } = await freshDatabase()
    const byOption = await opened({ store: url.replace('postgres:', 'postgresql:') })
    await byOption.queues.orders.send({ id: 1 })
    vi.stubEnv('MILLRACE_STORE', url)
    vi.stubEnv('MILLRACE_DATA', '/proc/not-used')
    const byVariable = await opened({})
    assert.equal((await byVariable.queues.orders.receive()).length, 1)
  })

  test('is not opened if `data` names a folder, or `store` does', async () => {
    const folder = await temporaryFolder('not-postgres')
    onTestFinished(() => folder.remove())
    vi.stubEnv('MILLRACE_STORE', 'postgres://127.0.0.1:1/none')
    const byData = await opened({ data: folder.file('one') })
    assert.equal(byData.storeFile, folder.file('one/millrace.db'))
    const byStore = await opened({ store: folder.file('two') })
    assert.equal(byStore.storeFile, folder.file('two/millrace.db'))
  })

  test('uses a pool of the caller, and leaves it open', async () => {
    const { url } = await freshDatabase()
    const pool = new pg.Pool({ connectionString: url, max: 3 })
    onTestFinished(() => pool.end())
    const mill = await opened({ store: postgres(pool) })
    assert.equal(await printed(mill, 'pooled'), 'printed pooled')
    await mill.close()
    assert.equal(pool.ending, false)
    assert.equal((await pool.query('SELECT 1 AS one')).rowCount, 1)
  })

  test('adds one listener to each connection of a pool, however many stores share it', async () => {
    const { url } = await freshDatabase()
    const warnings: string[] = []
    const onWarning = ({ name }: Error): unknown => warnings.push(name)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    onTestFinished(() => pool.end())
    const client = await pool.connect()
    client.release()
    const before = client.listenerCount('error')
    for (let count = 0; count < 12; count += 1) {
      const mill = await open(shop, { store: postgres(pool), log: false })
      await mill.queues.orders.send({ id: count })
      await mill.close()
    }
    assert.equal(client.listenerCount('error'), before + 1)
    assert.deepEqual(warnings, [])
  })

  test('has a schema of its own name, which may be in the URL', async () => {
    const { url } = await freshDatabase()
    const name = 'My-Jobs'
    const byOption = await opened({ store: postgres(url, { schema: name }) })
    await byOption.queues.orders.send({ id: 1 })
    const inUrl = await opened({
      store: `${url}?schema=${name}&connections=2`,
    })
    // The receive waits until the send, which it learns of by a notification.
    const [, deliveries] = await Promise.all([
      byOption.queues.orders.send({ id: 2 }),
      inUrl.queues.orders.receive({ max: 10, wait: '20s' }),
    ])
    assert.ok(deliveries.length > 0)
    assert.deepEqual(await schemasIn(url), [name])
  })

  test('does not see another schema of the same database', async () => {
    const { url } = await freshDatabase()
    const pool = new pg.Pool({ connectionString: url })
    onTestFinished(() => pool.end())
    const [one, other] = [
      await opened({ store: postgres(pool, { schema: 'one' }) }),
      await opened({ store: postgres(pool, { schema: 'other' }) }),
    ]
    await one.queues.orders.send({ id: 1 })
    assert.deepEqual(await other.queues.orders.receive(), [])
    assert.equal((await other.jobs.list('work')).items.length, 0)
    assert.equal((await one.queues.orders.receive()).length, 1)
  })

  test('seals its content, and is not opened without the key', async () => {
    const { url } = await freshDatabase()
    const key = { id: 'first', key: randomBytes(32) }
    const sealed = await opened({ store: url, encryptionKeys: [key] })
    assert.equal(await printed(sealed, 'a secret page'), 'printed a secret page')
    const { id } = await sealed.jobs.enqueue('work', 'PRINT', 'a secret page')
    const rows = await query(url, 'SELECT CAST(message AS TEXT) AS row FROM millrace.message')
    assert.equal(rows.length, 1)
    assert.doesNotMatch(String(rows[0]?.['row']), /secret page/)
    await assert.rejects(open(shop, { store: url }), { code: 'encryption_key_missing' })
    const wrong = { id: 'first', key: randomBytes(32) }
    const withWrong = open(shop, { store: url, encryptionKeys: [wrong] })
    await assert.rejects(withWrong, { code: 'encryption_key_wrong' })
    const again = await opened({ store: url, encryptionKeys: [key] })
    assert.equal((await again.jobs.get(id))?.payload, 'a secret page')
  })

  test('stops a process without the key as soon as another one seals the store', async () => {
    const { url } = await freshDatabase()
    const plain = await opened({ store: url })
    await plain.queues.orders.send({ id: 1 })
    await opened({ store: url, encryptionKeys: [{ id: 'new', key: randomBytes(32) }] })
    await assert.rejects(plain.queues.orders.send({ id: 2 }), { code: 'encryption_key_missing' })
  })
})

describe('a store that cannot be meant', () => {
  test.each([
    [{ store: 'mysql://root:hunter2@localhost/shop' }, /^store: got a URL with mysql:\/\//],
    [{ store: 'postgres://root:hunter2@local host:x/shop' }, /^store: got a URL that cannot be/],
    [{ store: 7 }, /^store: got 7, expected a store, such as postgres\(url\), a URL or a folder/],
    [{ store: 'a', data: 'b' }, /^store: got both, expected one of `store` and `data`/],
    [{ store: 'a', backend: {} }, /^store: got both, expected one of `store` and `backend`/],
  ])('is refused without its password: %j', async (options, message) => {
    await assert.rejects(open(shop, options as OpenOptions), (error: Error) => {
      assert.match(error.message, message)
      assert.doesNotMatch(error.message, /hunter2/)
      return true
    })
  })

  test.each([
    [{ schema: '' }, /^schema: got ''/],
    [{ schema: 'pg_jobs' }, /^schema: got 'pg_jobs', expected 1 to 54 letters, digits/],
    [{ schema: "it's" }, /^schema: got 'it's'/],
    [{ schema: 'a'.repeat(55) }, /^schema: /],
    [{ connections: 0 }, /^connections: got 0, expected a whole number/],
    [{ connexions: 3 }, /did you mean 'connections'/i],
  ])('is refused with the options %j', (options, message) => {
    assert.throws(() => postgres('postgres://localhost/shop', options as object), { message })
  })

  test('is refused if it is one connection and not a pool', () => {
    const client = new pg.Client({ connectionString: 'postgres://localhost/shop' })
    assert.throws(() => postgres(client as never), { message: /^database: .* a pg\.Pool$/ })
  })

  test.each([
    'postgres://ann:hun#ter2@db.example/shop',
    // A number before it looks like a port, and the role like a host.
    'postgres://ann:12#hunter2@db.example/shop',
    'postgres://ann:hun/ter2@db.example/shop',
    'postgres://ann:12/hunter2@db.example/shop',
    'postgres://ann:hun?ter2@db.example/shop',
    'postgres://ann:12?hunter2@db.example/shop',
    'postgres://ann:hunter2%@db.example/shop',
    'postgres://ann:50%off-hunter2@db.example/shop',
    'postgres://ann:hunter2%ff@db.example/shop',
    'postgres://a%nn:hunter2@db.example/shop',
    'postgres://ann:hunter2@db.example/100%',
  ])('is refused if a special character is not percent-encoded: %s', async (store) => {
    await assert.rejects(open(shop, { store }), (error: Error & { readonly code: string }) => {
      assert.equal(error.code, 'invalid_argument')
      assert.match(error.message, /^store: got a URL that cannot be read, expected .* %23 for #/)
      assert.doesNotMatch(inspect(error, { depth: 20 }), /hun|ter2|50%|db\.example/)
      assert.doesNotMatch(error.message, /12/)
      return true
    })
    const advice = await restoreBackend({ store, from: 'f' }).catch((error: Error) => error.message)
    assert.equal(advice, 'Millrace does not restore a store on Postgres. Run: pg_restore f')
  })

  test.each(['hunter2%ff', 'hun#ter2'])(
    'is refused if the driver cannot read the URL of a pool: %s',
    async (password) => {
      const pool = new pg.Pool({ connectionString: `postgres://ann:${password}@db.example/shop` })
      await assert.rejects(open(shop, { store: postgres(pool) }), (error: Error) => {
        assert.match(error.message, /: the URL of the pool cannot be read, expected .* %23 for #/)
        assert.doesNotMatch(inspect(error, { depth: 20 }), /hun|ter2/)
        return true
      })
    },
  )

  test('may have percent-encoded characters in its password and names', () => {
    const url = 'postgres://a%6En:%23%2F%3F%25hunter2@db.example/shop%25?schema=jobs'
    assert.equal(postgres(url).place, 'postgres://db.example/shop%, schema jobs')
    assert.throws(() => postgres('postgres://db.example/shop?schema=50%'), {
      message: /^schema: got '50%', expected/,
    })
  })

  test('is named without its password', () => {
    const url = 'postgres://ann:hunter2@db.example:5433/shop?sslmode=disable'
    const place = 'postgres://db.example:5433/shop, schema millrace'
    assert.equal(postgres(url).place, place)
    assert.equal(postgres(new pg.Pool({ connectionString: url })).place, place)
    const unread = 'postgres://ann:50%hunter2@db.example/100%'
    assert.doesNotMatch(postgres(new pg.Pool({ connectionString: unread })).place, /hunter2/)
    const socket = 'postgres://ann@/shop?host=/run/postgresql'
    assert.equal(postgres(socket).place, 'postgres:///run/postgresql/shop, schema millrace')
  })
})

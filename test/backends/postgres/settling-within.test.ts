/** Rows of the caller's own, written in the transaction of a settlement. */
import assert from 'node:assert/strict'
import { drizzle } from 'drizzle-orm/node-postgres'
import { sql } from 'drizzle-orm/sql'
import pg from 'pg'
import { describe, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import type { Backend, Settlement, SettleResult } from '../../../src/backends/backend.ts'
import { openPostgres } from '../../../src/backends/postgres/index.ts'
import { defineApp, jobs, open } from '../../../src/index.ts'
import { type LentClient, postgres } from '../../../src/postgres.ts'
import { freshDatabase } from '../../services/fresh-database.ts'

interface Shop {
  readonly url: string
  readonly backend: Backend
  readonly receipts: readonly string[]
  /** Settles messages of `orders`, each with its own parts. */
  settle(...parts: readonly Partial<Settlement>[]): Promise<readonly SettleResult[]>
  connect(): Promise<pg.Client>
  /** The rows that were kept. */
  rows(): Promise<unknown[]>
}

async function openShop(orders: number): Promise<Shop> {
  const { url } = await freshDatabase()
  const { backend } = await openPostgres({ url, connections: 4 })
  const clients: pg.Client[] = []
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: url })
    clients.push(client)
    await client.connect()
    return client
  }
  const own = await connect()
  await own.query('CREATE TABLE chunk (document TEXT NOT NULL, text TEXT NOT NULL UNIQUE)')
  onTestFinished(async () => {
    for (const client of clients) await client.end()
    await backend.close()
  })
  for (const queue of ['orders', 'next']) await backend.createQueue({ queue })
  const messages = Array.from({ length: orders }, (_, index) => ({ body: `${index}` }))
  await backend.send({ queue: 'orders', messages })
  const deliveries = await backend.receive({ queue: 'orders', max: orders })
  const receipts = deliveries.map(({ receipt }) => receipt)
  return {
    url,
    backend,
    receipts,
    connect,
    settle: (...parts) =>
      backend.settle({
        queue: 'orders',
        settlements: parts.map((part, index) => ({
          receipt: receipts[index] ?? '',
          outcome: { kind: 'acknowledge' },
          ...part,
        })),
      }),
    rows: async () =>
      (await own.query('SELECT text FROM chunk ORDER BY text')).rows.map(({ text }) => text),
  }
}

const insert = "INSERT INTO chunk VALUES ('d', $1)"

function writing(text: string): (client: object) => Promise<void> {
  return async (client) => {
    const { rowCount } = await clientOf(client).query(insert, [text])
    assert.equal(rowCount, 1)
  }
}

function clientOf(client: object): LentClient {
  assert.ok('query' in client)
  return client as LentClient
}

function refusalOf(result: SettleResult | undefined): Error {
  assert.ok(result?.status === 'refused', JSON.stringify(result))
  assert.equal(result.error.code, 'within_failed')
  return result.error
}

const emits = [{ queue: 'next', message: { body: 'next' } }]

describe('what is written within a settlement', () => {
  test('is kept with it', async () => {
    const shop = await openShop(1)
    const [result] = await shop.settle({ within: writing('one'), emits })
    assert.equal(result?.status, 'settled')
    assert.deepEqual(await shop.rows(), ['one'])
    assert.equal((await shop.backend.queueStatistics({ queue: 'next' })).ready, 1)
  })

  test('undoes its settlement when it throws, runs once, and leaves the neighbours alone', async () => {
    const shop = await openShop(3)
    const failure = new Error('the chunk is torn')
    let runs = 0
    const results = await shop.settle(
      { within: writing('one') },
      {
        emits,
        within: async (client) => {
          runs += 1
          await writing('two')(client)
          throw failure
        },
      },
      { within: writing('three') },
    )
    assert.deepEqual(
      results.map(({ status }) => status),
      ['settled', 'refused', 'settled'],
    )
    assert.deepEqual([refusalOf(results[1]).cause, runs], [failure, 1])
    assert.deepEqual(await shop.rows(), ['one', 'three'])
    const { ready } = await shop.backend.queueStatistics({ queue: 'next' })
    const { leased } = await shop.backend.queueStatistics({ queue: 'orders' })
    assert.deepEqual([ready, leased], [0, 1])
    const again = { receipt: shop.receipts[1] ?? '', within: writing('two') }
    assert.equal((await shop.settle(again))[0]?.status, 'settled')
  })

  test('is undone by what the database refuses, noticed or not, and runs once', async () => {
    const shop = await openShop(4)
    await shop.settle({ within: writing('one') })
    const runs = [0, 0, 0]
    const counted =
      (index: number, write: (client: object) => unknown) =>
      (client: object): unknown => {
        runs[index] = (runs[index] ?? 0) + 1
        return write(client)
      }
    const [, ...receipts] = shop.receipts
    const ways = [
      writing('one'),
      (client: object) => writing('one')(client).catch(() => undefined),
      // Nobody waits for it.
      (client: object) => void clientOf(client).query(insert, ['one']),
    ]
    for (const [index, way] of ways.entries()) {
      const receipt = receipts[index] ?? ''
      const [result] = await shop.settle({ receipt, within: counted(index, way) })
      assert.match(String(refusalOf(result).cause), /duplicate key/)
    }
    assert.deepEqual(runs, [1, 1, 1])
    assert.deepEqual(await shop.rows(), ['one'])
  })

  test('may have savepoints of its own', async () => {
    const shop = await openShop(1)
    const [result] = await shop.settle({
      within: async (given) => {
        const client = clientOf(given)
        await client.query('SAVEPOINT mine')
        await assert.rejects(client.query('INSERT INTO nowhere VALUES (1)'))
        await client.query('ROLLBACK TO SAVEPOINT mine')
        await writing('one')(client)
      },
    })
    assert.equal(result?.status, 'settled')
    assert.deepEqual(await shop.rows(), ['one'])
  })

  test('cannot end the transaction, or change the connection', async () => {
    const texts = [
      'COMMIT',
      ' ; -- quiet\n/* still quiet */ commit and chain',
      'END',
      'rollback',
      'ROLLBACK WORK',
      'ABORT',
      'BEGIN',
      'START TRANSACTION',
      "PREPARE TRANSACTION 'mine'",
      '/* a /* nested */ comment */ COMMIT',
      'SET search_path TO nowhere',
      'DEALLOCATE ALL',
      'LISTEN mine',
    ]
    const shop = await openShop(texts.length + 1)
    for (const [index, text] of texts.entries()) {
      const receipt = shop.receipts[index] ?? ''
      // It does not even notice.
      const within = async (client: object): Promise<void> => {
        await writing('one')(client)
        await clientOf(client)
          .query(text)
          .catch(() => undefined)
      }
      const [result] = await shop.settle({ receipt, within })
      assert.equal(refusalOf(result).cause, undefined, text)
    }
    const receipt = shop.receipts.at(-1) ?? ''
    const two = async (client: object): Promise<void> => {
      await clientOf(client).query('SELECT 1; COMMIT')
    }
    const [result] = await shop.settle({ receipt, within: two })
    assert.match(String(refusalOf(result).cause), /multiple commands/)
    assert.deepEqual(await shop.rows(), [])
    const { leased } = await shop.backend.queueStatistics({ queue: 'orders' })
    assert.equal(leased, texts.length + 1)
  })

  test('cannot be written after the function has ended', async () => {
    const shop = await openShop(1)
    let kept: object = {}
    await shop.settle({
      within: (client) => {
        kept = client
      },
    })
    await assert.rejects(writing('later')(kept), { code: 'within_failed', message: /is over/ })
    assert.deepEqual(await shop.rows(), [])
    const job = { type: 'T', payload: '1' }
    const request = { queue: 'next', jobs: [job], transaction: kept }
    await assert.rejects(async () => shop.backend.jobs?.enqueueWithin(request), {
      code: 'invalid_argument',
      message: /the client of a settlement/,
    })
  })

  test('runs again when another transaction was in its way', async () => {
    const shop = await openShop(1)
    const other = await shop.connect()
    for (const text of ['one', 'two']) await other.query(insert, [text])
    await other.query('BEGIN')
    await other.query("UPDATE chunk SET document = 'o' WHERE text = 'one'")
    let runs = 0
    const settling = shop.settle({
      within: async (given) => {
        runs += 1
        const client = clientOf(given)
        await client.query("SET LOCAL deadlock_timeout = '10ms'")
        await client.query("UPDATE chunk SET document = 'm' WHERE text = 'two'")
        if (runs === 1) {
          // Each waits for the other from now on.
          void other.query("UPDATE chunk SET document = 'o' WHERE text = 'two'").then(
            () => other.query('COMMIT'),
            () => other.query('ROLLBACK'),
          )
          await waits(shop, 'two')
        }
        await client.query("UPDATE chunk SET document = 'm' WHERE text = 'one'")
      },
    })
    assert.equal((await settling)[0]?.status, 'settled')
    assert.equal(runs, 2)
  })

  test('may be written by a library that takes a client of pg', async () => {
    const shop = await openShop(1)
    const [result] = await shop.settle({
      within: async (client) => {
        const db = drizzle({ client: client as pg.Client })
        const { rows } = await db.execute<{ text: string }>(
          sql`INSERT INTO chunk VALUES ('d', ${'one'}) RETURNING text`,
        )
        assert.deepEqual(rows, [{ text: 'one' }])
      },
    })
    assert.equal(result?.status, 'settled')
    assert.deepEqual(await shop.rows(), ['one'])
  })

  test('is planned as on a connection of its own', async () => {
    const shop = await openShop(2)
    const seen: unknown[] = []
    const within = async (client: object): Promise<void> => {
      const { rows } = await clientOf(client).query('SHOW enable_seqscan')
      seen.push(rows[0]?.['enable_seqscan'])
    }
    await shop.settle({ within }, { within })
    assert.deepEqual(seen, ['on', 'on'])
  })
})

/** Waits until another transaction waits for a lock. */
async function waits(shop: Shop, text: string): Promise<void> {
  const client = await shop.connect()
  const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1"
  while ((await client.query(waiting, [`%text = '${text}'%`])).rows.length === 0);
}

describe('rows that a handler writes within its settlement', () => {
  test('are stored with the completion of its job', async () => {
    const { url } = await freshDatabase()
    const own = new pg.Client({ connectionString: url })
    await own.connect()
    onTestFinished(() => own.end())
    await own.query('CREATE TABLE chunk (document TEXT NOT NULL, text TEXT NOT NULL UNIQUE)')
    const app = defineApp('shop', { queues: { basic: jobs({ types: { WORK: z.object({}) } }) } })
    await using mill = await open(app, { store: postgres(url) })
    const worker = mill.worker({
      poll: ['basic'],
      handle: {
        WORK: (_, context) => {
          context.within<LentClient>((client) => client.query(insert, ['one']))
          context.within<LentClient>(async (client) => {
            const { rows } = await client.query('SELECT text FROM chunk')
            await client.query(insert, [`${rows[0]?.['text']} more`])
          })
        },
      },
    })
    worker.start()
    const { id } = await mill.jobs.enqueue('basic', 'WORK', {})
    assert.equal((await mill.jobs.waitFor(id)).status, 'completed')
    await worker.stop()
    const { rows } = await own.query('SELECT text FROM chunk ORDER BY text')
    assert.deepEqual(rows, [{ text: 'one' }, { text: 'one more' }])
  })
})

/** Rows of the caller's own, written in the transaction of a settlement. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, onTestFinished, test } from 'vitest'
import type { Backend, Settlement, SettleResult } from '../../../src/backends/backend.ts'
import { openSqlite } from '../../../src/backends/sqlite/index.ts'
import { virtualPorts } from '../../../src/testing/virtual-clock.ts'
import { assertSoundStore } from '../../support/store-inspection.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const leaseMs = 10_000

interface Shop {
  readonly backend: Backend
  readonly receipts: readonly string[]
  advance(ms: number): Promise<void>
  /** Settles messages of `orders`, each with its own parts. */
  settle(...parts: readonly Partial<Settlement>[]): Promise<readonly SettleResult[]>
  /** The rows that were kept. */
  rows(): unknown[]
}

async function openShop(orders: number): Promise<Shop> {
  const folder = await temporaryFolder('within')
  const file = folder.file('store.db')
  const ports = virtualPorts()
  const backend = await openSqlite({ file, ports })
  const own = new DatabaseSync(file)
  own.exec('CREATE TABLE chunk (document TEXT NOT NULL, text TEXT NOT NULL UNIQUE)')
  onTestFinished(async () => {
    own.close()
    await backend.close()
    assertSoundStore(file)
    await folder.remove()
  })
  for (const queue of ['orders', 'next']) {
    await backend.createQueue({ queue, settings: { visibilityMs: leaseMs } })
  }
  const messages = Array.from({ length: orders }, (_, index) => ({ body: `${index}` }))
  await backend.send({ queue: 'orders', messages })
  const deliveries = await backend.receive({ queue: 'orders', max: orders })
  const receipts = deliveries.map(({ receipt }) => receipt)
  return {
    backend,
    receipts,
    advance: (ms) => ports.clock.advance(ms),
    settle: (...parts) =>
      backend.settle({
        queue: 'orders',
        settlements: parts.map((part, index) => ({
          receipt: receipts[index] ?? '',
          outcome: { kind: 'acknowledge' },
          ...part,
        })),
      }),
    rows: () =>
      own
        .prepare('SELECT text FROM chunk ORDER BY text')
        .all()
        .map((row) => row['text']),
  }
}

function writing(text: string): (connection: object) => void {
  return (connection) => {
    connectionOf(connection).prepare('INSERT INTO chunk VALUES (?, ?)').run('d', text)
  }
}

function connectionOf(connection: object): DatabaseSync {
  assert.ok(connection instanceof DatabaseSync)
  return connection
}

const emits = [{ queue: 'next', message: { body: 'next' } }]

describe('what is written within a settlement', () => {
  test('is kept with it', async () => {
    const shop = await openShop(1)
    const [result] = await shop.settle({ within: writing('one'), emits })
    assert.equal(result?.status, 'settled')
    assert.deepEqual(shop.rows(), ['one'])
    assert.equal((await shop.backend.queueStatistics({ queue: 'next' })).ready, 1)
  })

  test('is not written at all by one whose lease has gone to somebody else', async () => {
    const shop = await openShop(1)
    await shop.advance(leaseMs + 1)
    await shop.backend.receive({ queue: 'orders', max: 1 })
    let wasRun = false
    const within = (): void => {
      wasRun = true
    }
    assert.deepEqual(await shop.settle({ within }), [{ status: 'stale' }])
    assert.equal(wasRun, false)
  })

  test('undoes its settlement when it throws, and leaves the neighbours alone', async () => {
    const shop = await openShop(3)
    const failure = new Error('the chunk is torn')
    const results = await shop.settle(
      { within: writing('one') },
      {
        emits,
        within: (connection) => {
          writing('two')(connection)
          throw failure
        },
      },
      { within: writing('three') },
    )
    assert.deepEqual(
      results.map(({ status }) => status),
      ['settled', 'refused', 'settled'],
    )
    const [, refused] = results
    assert.ok(refused?.status === 'refused')
    assert.deepEqual([refused.error.code, refused.error.cause], ['within_failed', failure])
    assert.deepEqual(shop.rows(), ['one', 'three'])
    const { ready } = await shop.backend.queueStatistics({ queue: 'next' })
    const { leased } = await shop.backend.queueStatistics({ queue: 'orders' })
    assert.deepEqual([ready, leased], [0, 1])
    const again = { receipt: shop.receipts[1] ?? '', within: writing('two') }
    assert.equal((await shop.settle(again))[0]?.status, 'settled')
  })

  test('is undone by what the database refuses, also when that ends the transaction', async () => {
    const shop = await openShop(3)
    const results = await shop.settle(
      { within: writing('one') },
      { within: writing('one') },
      {
        within: (connection) => {
          const insert = "INSERT OR ROLLBACK INTO chunk VALUES ('d', 'one')"
          connectionOf(connection).exec(insert)
        },
      },
    )
    assert.deepEqual(
      results.map(({ status }) => status),
      ['settled', 'refused', 'refused'],
    )
    assert.deepEqual(shop.rows(), ['one'])
  })

  test('has to be synchronous, and must not end the transaction', async () => {
    const shop = await openShop(3)
    const results = await shop.settle(
      {
        within: async (connection) => {
          writing('late')(connection)
        },
      },
      { within: (connection) => connectionOf(connection).exec('SELECT 1; commit') },
      { within: (connection) => connectionOf(connection).prepare('ROLLBACK').run() },
    )
    for (const result of results) {
      assert.ok(result.status === 'refused')
      assert.equal(result.error.code, 'within_failed')
      assert.equal(result.error.cause, undefined)
    }
    assert.deepEqual(shop.rows(), [])
  })

  test('cannot be written after the function has returned', async () => {
    const shop = await openShop(1)
    let kept: object | undefined
    await shop.settle({
      within: (connection) => {
        kept = connection
      },
    })
    assert.throws(() => writing('later')(kept ?? {}), TypeError)
    assert.deepEqual(shop.rows(), [])
  })

  test('belongs to an acknowledgement, and is a function', async () => {
    const shop = await openShop(1)
    const wrong: readonly Partial<Settlement>[] = [
      { outcome: { kind: 'release' }, within: writing('one') },
      { within: null as never },
      { within: 'INSERT INTO chunk VALUES (1, 2)' as never },
    ]
    for (const parts of wrong) {
      const [result] = await shop.settle(parts)
      assert.ok(result?.status === 'refused')
      assert.equal(result.error.code, 'invalid_argument')
    }
    assert.deepEqual(shop.rows(), [])
  })
})

/** What a caller may not do with the connection that a settlement lends it. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'vitest'
import type { Backend, Settlement, SettleResult } from '../../../src/backends/backend.ts'
import { MillraceError } from '../../../src/core/millrace-error.ts'
import { openOrders } from './orders-store.ts'

type Within = NonNullable<Settlement['within']>

interface Store {
  readonly backend: Backend
  /** Acknowledges one message after the other, the first of them with `within`. */
  settle(within: (db: DatabaseSync) => void): Promise<readonly SettleResult[]>
}

async function openStore(): Promise<Store> {
  const { backend } = await openOrders()
  await backend.send({ queue: 'orders', messages: [{ body: '1' }, { body: '2' }] })
  const deliveries = await backend.receive({ queue: 'orders', max: 2 })
  return {
    backend,
    settle: (within) =>
      backend.settle({
        queue: 'orders',
        settlements: deliveries.map(({ receipt }, index) => ({
          receipt,
          outcome: { kind: 'acknowledge' },
          ...(index === 0 && { within: lending(within) }),
        })),
      }),
  }
}

function lending(use: (db: DatabaseSync) => void): Within {
  return (connection) => {
    assert.ok(connection instanceof DatabaseSync)
    use(connection)
  }
}

/** The first settlement is refused, the second is as if nothing had been. */
async function assertRefusedAlone(
  { backend, settle }: Store,
  within: Parameters<Store['settle']>[0],
) {
  const [first, second] = await settle(within)
  assert.ok(first?.status === 'refused')
  assert.equal(first.error.code, 'within_failed')
  assert.equal(second?.status, 'settled')
  const { leased, ready, totals } = await backend.queueStatistics({ queue: 'orders' })
  assert.deepEqual([leased, ready, totals.acknowledged], [1, 0, 1])
  await backend.send({ queue: 'orders', messages: [{ body: '3' }] })
  return first.error
}

describe('a lent connection', () => {
  test('is not closed by the one who borrows it', async () => {
    await assertRefusedAlone(await openStore(), (db) => db.close())
    await assertRefusedAlone(await openStore(), (db) => db[Symbol.dispose]())
  })

  test('keeps its transaction, however the end of it is written', async () => {
    const endings = ['/* done */ COMMIT', '-- done\nROLLBACK', 'SELECT 1; /* ; */ END']
    for (const sql of endings) await assertRefusedAlone(await openStore(), (db) => db.exec(sql))
  })

  test('takes words for words, not for the end of a transaction', async () => {
    const store = await openStore()
    const [first] = await store.settle((db) => {
      db.exec("CREATE TABLE note (text TEXT); INSERT INTO note VALUES ('so; commit -- to it')")
      db.exec(`
        CREATE TRIGGER louder AFTER INSERT ON note BEGIN
          UPDATE note SET text = upper(text);
        END;`)
    })
    assert.equal(first?.status, 'settled')
  })

  test('is no transaction of the caller for jobs, whose numbers the settlement gives out', async () => {
    const store = await openStore()
    const { jobs } = store.backend
    assert.ok(jobs !== null)
    const error = await assertRefusedAlone(store, (transaction) => {
      const job = { type: 'OCR', payload: '1', maxAttempts: 1 }
      jobs.enqueueWithin({ queue: 'orders', jobs: [job], transaction })
    })
    assert.ok(error.cause instanceof MillraceError)
    assert.equal(error.cause.code, 'invalid_argument')
  })

  test('fails one settlement when it is another connection that meets a fault', async () => {
    const busy = await openStore()
    const error = await assertRefusedAlone(busy, (db) => {
      const other = new DatabaseSync(String(db.location()))
      try {
        other.exec('CREATE TABLE late (text TEXT)')
      } finally {
        other.close()
      }
    })
    assert.match(String(error.cause), /database is locked/)
    await assertRefusedAlone(await openStore(), (db) => {
      new DatabaseSync(`${db.location()}/missing.db`).close()
    })
  })

  test('fails one settlement with an error of ours too, and not the call', async () => {
    const invalid = MillraceError.invalid([{ field: 'x', given: 'a', allowed: 'b' }])
    const error = await assertRefusedAlone(await openStore(), () => {
      throw invalid
    })
    assert.equal(error.cause, invalid)
  })
})

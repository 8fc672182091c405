/** What is the store's own, and stays so while its connection is lent. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'vitest'
import type { SettleResult } from '../../../src/backends/backend.ts'
import { ownTables } from '../../../src/backends/sqlite/driver/lending-guard.ts'
import { type OrdersStore, openOrders } from './orders-store.ts'

interface Store extends OrdersStore {
  /** Sends a message and acknowledges it, with what the function does on the lent connection. */
  lend(use: (db: DatabaseSync) => void): Promise<SettleResult | undefined>
}

async function openStore(): Promise<Store> {
  const { backend, file } = await openOrders()
  const lend: Store['lend'] = async (use) => {
    await backend.send({ queue: 'orders', messages: [{ body: '1' }] })
    const [delivery] = await backend.receive({ queue: 'orders', max: 1, waitMs: 0 })
    assert.ok(delivery !== undefined)
    const within = (connection: object): void => {
      assert.ok(connection instanceof DatabaseSync)
      use(connection)
    }
    const settlement = {
      receipt: delivery.receipt,
      outcome: { kind: 'acknowledge' },
      within,
    } as const
    const [result] = await backend.settle({ queue: 'orders', settlements: [settlement] })
    return result
  }
  return { backend, file, lend }
}

// Node has authorizers since 24.10, and Millrace supports older ones.
const hasAuthorizers = 'setAuthorizer' in DatabaseSync.prototype

describe.runIf(hasAuthorizers)('a connection that is lent', () => {
  test('knows the tables of the store, each and no other', async () => {
    const { file } = await openStore()
    const db = new DatabaseSync(file, { readOnly: true })
    const found = db.prepare(`
      SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
      ORDER BY name`)
    const names = found.all().map(({ name }) => name)
    db.close()
    assert.deepEqual([...ownTables].sort(), names)
  })

  test('changes none of them, in whatever way', async () => {
    const { backend, lend } = await openStore()
    await lend((db) => db.exec('CREATE TABLE own (text TEXT)'))
    for (const sql of [
      'DELETE FROM message',
      'UPDATE Store SET clock_ms = 0',
      'INSERT INTO main.inbox_queue VALUES (1, 2)',
      'REPLACE INTO "budget" SELECT * FROM budget',
      'WITH x AS (SELECT 1) DELETE FROM queue',
      'SELECT 1; DROP TABLE queue_count',
      'ALTER TABLE flow RENAME TO own_flow',
      'ALTER TABLE flow ADD COLUMN mine TEXT',
      'CREATE INDEX mine ON message (body)',
      'DROP INDEX collector_key_by_name',
      'CREATE TRIGGER mine AFTER DELETE ON message BEGIN SELECT 1; END',
      'CREATE TEMP TRIGGER mine AFTER DELETE ON message BEGIN SELECT 1; END',
      `CREATE TRIGGER mine AFTER INSERT ON own BEGIN DELETE FROM message; END;
        INSERT INTO own VALUES ('x')`,
    ]) {
      const result = await lend((db) => db.exec(sql))
      assert.ok(result?.status === 'refused', sql)
      assert.equal(result.error.code, 'within_failed')
      assert.match(
        result.error.message,
        /would change the table '\w+', which is Millrace's own/,
        sql,
      )
    }
    const { totals, leased } = await backend.queueStatistics({ queue: 'orders' })
    assert.deepEqual([totals.acknowledged, leased], [1, 13])
  })

  test('keeps its settings, its transaction and its guard', async () => {
    const { lend } = await openStore()
    const refusals = [
      [(db: DatabaseSync) => db.exec('PRAGMA synchronous = OFF'), /a setting of the connection/],
      [(db: DatabaseSync) => db.exec('PRAGMA user_version(0)'), /a setting of the connection/],
      [(db: DatabaseSync) => db.setAuthorizer(null), /keeps its guard/],
      [(db: DatabaseSync) => db.createTagStore().run`COMMIT`, /end the transaction/],
    ] as const
    for (const [use, why] of refusals) {
      const result = await lend((db) => void use(db))
      assert.ok(result?.status === 'refused')
      assert.match(result.error.message, why)
    }
  })

  test('reads everything, and does what it likes with tables of its own', async () => {
    const { file, lend } = await openStore()
    const result = await lend((db) => {
      db.exec(`
        CREATE TABLE own (number INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT);
        CREATE INDEX own_text ON own (text);
        CREATE TRIGGER louder AFTER INSERT ON own BEGIN UPDATE own SET text = upper(text); END;
        CREATE TEMP TABLE message (text TEXT);
        INSERT INTO message VALUES ('for the time being');
        INSERT INTO own (text) SELECT text FROM temp.message;
        DROP TABLE temp.message;
        SAVEPOINT mine; DELETE FROM own; ROLLBACK TO mine; RELEASE mine;
        ALTER TABLE own ADD COLUMN more TEXT;`)
      assert.equal(db.prepare('PRAGMA table_info(own)').all().length, 3)
      assert.equal(db.prepare('SELECT count(*) AS count FROM queue').get()?.['count'], 1)
    })
    assert.equal(result?.status, 'settled')
    const db = new DatabaseSync(file, { readOnly: true })
    assert.equal(db.prepare('SELECT text FROM own').get()?.['text'], 'FOR THE TIME BEING')
    db.close()
  })

  test('belongs to the store again afterwards, also when something was refused', async () => {
    const { backend, lend } = await openStore()
    const refused = await lend((db) => {
      assert.throws(() => db.prepare('DELETE FROM message'), /not authorized/)
      // All statements of the connection are compiled anew after this.
      db.exec('CREATE TABLE own (text TEXT)')
    })
    assert.equal(refused?.status, 'settled')
    await backend.createQueue({ queue: 'more' })
    await backend.send({ queue: 'more', messages: [{ body: 'x'.repeat(5_000) }] })
    const [delivery] = await backend.receive({ queue: 'more', max: 1 })
    assert.equal(delivery?.body.length, 5_000)
    await backend.purgeQueue({ queue: 'more' })
    await backend.sweep()
    assert.equal((await lend((db) => db.exec("INSERT INTO own VALUES ('a')")))?.status, 'settled')
  })
})

import assert from 'node:assert/strict'
import pg from 'pg'
import { describe, test } from 'vitest'
import { namesOfSchema } from '../../../src/backends/postgres/driver/migrate.ts'
import { StatementTexts } from '../../../src/backends/postgres/driver/statement-texts.ts'
// Loads the modules that declare them.
import { openPostgres } from '../../../src/backends/postgres/index.ts'
import { declaredStatements } from '../../../src/engine/statements.ts'
import { freshDatabase } from '../../services/fresh-database.ts'

const schema = '"Odd ""name"'

describe('the statements of the engine', () => {
  test('can all be prepared on an empty Postgres store, in a schema of any name', async () => {
    const { url } = await freshDatabase()
    const { backend } = await openPostgres({ url, schema: 'Odd "name' })
    await backend.close()
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      const texts = new StatementTexts(schema, namesOfSchema())
      assert.ok(declaredStatements.length > 400, `only ${declaredStatements.length} are declared`)
      for (const statement of declaredStatements) {
        const text = texts.of(statement)
        await client.query(`PREPARE s${statement.slot} AS ${text}`).catch((error: Error) => {
          assert.fail(`${error.message}: ${text.replaceAll(/\s+/g, ' ')}`)
        })
      }
    } finally {
      await client.end()
    }
  })

  test('have numbered parameters, and the schema before each table and sequence', () => {
    const texts = new StatementTexts(schema, ['message', 'queue'])
    assert.equal(
      texts.translate(
        "SELECT message.id, nextval('@schema.s') FROM message JOIN queue ON a = ? AND b = ?",
      ),
      `SELECT message.id, nextval('${schema}.s') FROM ${schema}.message JOIN ${schema}.queue ON a = $1 AND b = $2`,
    )
    assert.equal(texts.translate('SELECT 1 FROM other'), 'SELECT 1 FROM other')
  })
})

describe('opening a store', () => {
  test('by several processes at once creates its schema once', async () => {
    const { url } = await freshDatabase()
    const opened = await Promise.all(Array.from({ length: 4 }, () => openPostgres({ url })))
    await opened[0]?.backend.createQueue({ queue: 'q' })
    for (const { backend } of opened) {
      assert.equal((await backend.readQueue({ queue: 'q' })).name, 'q')
      await backend.close()
    }
  })

  test('keeps what was stored, in the time of the database', async () => {
    const { url } = await freshDatabase()
    const first = await openPostgres({ url })
    await first.backend.createQueue({ queue: 'q' })
    await first.backend.send({ queue: 'q', messages: [{ body: 'kept' }] })
    await first.backend.close()
    const second = await openPostgres({ url })
    const [delivery] = await second.backend.receive({ queue: 'q', max: 1 })
    assert.equal(delivery?.body, 'kept')
    assert.ok(Math.abs((delivery?.sentAt ?? 0) - Date.now()) < 60_000)
    await second.backend.close()
  })

  test('works through a pooler that shares connections between transactions', async () => {
    const { pgbouncerUrl: url } = await freshDatabase()
    const [one, other] = [await openPostgres({ url }), await openPostgres({ url })]
    await one.backend.createQueue({ queue: 'q' })
    const waiting = other.backend.receive({ queue: 'q', max: 10, waitMs: 20_000 })
    const sends = Array.from({ length: 30 }, (_, index) =>
      (index % 2 === 0 ? one : other).backend.send({
        queue: 'q',
        messages: [{ body: `m${index}` }],
      }),
    )
    await Promise.all(sends)
    const received = [...(await waiting)]
    while (received.length < 30) {
      received.push(...(await one.backend.receive({ queue: 'q', max: 10, waitMs: 20_000 })))
    }
    assert.equal(new Set(received.map(({ body }) => body)).size, 30)
    const settlements = received.map(({ receipt }) => ({
      receipt,
      outcome: { kind: 'acknowledge' } as const,
    }))
    const settled = await other.backend.settle({ queue: 'q', settlements })
    assert.ok(settled.every(({ status }) => status === 'settled'))
    await Promise.all([one.backend.close(), other.backend.close()])
  })

  test('wakes a receive that waits in another process', async () => {
    const { url } = await freshDatabase()
    const [sender, receiver] = [await openPostgres({ url }), await openPostgres({ url })]
    await sender.backend.createQueue({ queue: 'q' })
    const waiting = receiver.backend.receive({ queue: 'q', max: 1, waitMs: 20_000 })
    await sender.backend.send({ queue: 'q', messages: [{ body: 'woken' }] })
    assert.equal((await waiting)[0]?.body, 'woken')
    await Promise.all([sender.backend.close(), receiver.backend.close()])
  })
})

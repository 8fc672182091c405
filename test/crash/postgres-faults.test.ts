import assert from 'node:assert/strict'
import pg from 'pg'
import { describe, test, vi } from 'vitest'
import type { Backend } from '../../src/backends/backend.ts'
import { openPostgres } from '../../src/backends/postgres/index.ts'
import { seededRandomness } from '../../src/testing/virtual-clock.ts'
import { prepareForCommitFaults, startCommitProxy } from '../services/commit-proxy.ts'
import { startCutProxy } from '../services/cut-proxy.ts'
import { freshDatabase } from '../services/fresh-database.ts'
import { startPostgresServer } from '../services/postgres-server.ts'
import { query } from '../services/query.ts'

const seed = Number(process.env['MILLRACE_SEED'] ?? 20_260_101)

describe('Postgres', () => {
  test('whose connections are cut at random bytes keeps every acknowledged message, once', async () => {
    await using server = await startPostgresServer({ durable: false })
    await server.createDatabase('cut')
    using proxy = await startCutProxy(server.port)
    const { backend } = await openPostgres({ url: proxy.url(server.url('cut')) })
    await backend.createQueue({ queue: 'q' })
    const random = seededRandomness(seed)
    const acknowledged: string[] = []
    const refused: string[] = []
    for (let round = 0; round < 60; round += 1) {
      const bytes = Math.floor(random.next() * 900)
      const cut = proxy.cutAfter(bytes, random.next() < 0.5 ? 'toServer' : 'toClient')
      const bodies = Array.from({ length: 5 }, (_, index) => `m${round}-${index}`)
      const sends = bodies.map((body) => send(backend, body))
      for (const [index, end] of (await Promise.allSettled(sends)).entries()) {
        const list = end.status === 'fulfilled' ? acknowledged : refused
        list.push(bodies[index] ?? '')
      }
      void cut
    }
    const stored = await bodiesIn(backend)
    assert.equal(new Set(stored).size, stored.length, 'a message was stored twice')
    const missing = acknowledged.filter((body) => !stored.includes(body))
    assert.deepEqual(missing, [], 'acknowledged messages are lost')
    // A cut costs a call some time, and is no error of it.
    assert.deepEqual(refused, [])
    assert.equal(acknowledged.length, 300)
    assert.equal((await backend.queueStatistics({ queue: 'q' })).ready, stored.length)
    await backend.close()
  })

  test('whose answer to a commit is lost has committed, and the call is not repeated', async () => {
    await using server = await startPostgresServer({ durable: false })
    await server.createDatabase('lost')
    using proxy = await startCutProxy(server.port)
    const { backend } = await openPostgres({ url: proxy.url(server.url('lost')) })
    await backend.createQueue({ queue: 'q' })
    let losses = 0
    const { query } = pg.Client.prototype
    // The request arrives at the server, and the connection is cut before the reply.
    vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
      this: pg.Client,
      ...given: readonly unknown[]
    ) {
      const [asked] = given
      const text =
        typeof asked === 'object' && asked !== null && 'text' in asked ? asked.text : asked
      // A plain send commits with the statement that stores it.
      if (/^(COMMIT$|WITH stored)/.test(String(text).trim()) && losses < 10) {
        losses += 1
        void proxy.cutAfter(0, 'toClient')
      }
      return Reflect.apply(query, this, given)
    } as typeof query)
    const bodies = Array.from({ length: 20 }, (_, index) => `m${index}`)
    for (const body of bodies) await send(backend, body)
    vi.restoreAllMocks()
    assert.equal(losses, 10)
    assert.deepEqual(await bodiesIn(backend), bodies)
    await backend.close()
  })

  test('that has forgotten a process which was idle for a day lets it send after a cut', async () => {
    const { url } = await freshDatabase()
    await prepareForCommitFaults(url)
    using proxy = await startCommitProxy(Number(new URL(url).port))
    const { backend } = await openPostgres({ url: proxy.url(url), busyTimeoutMs: 2_000 })
    await backend.createQueue({ queue: 'q' })
    await send(backend, 'before')
    await query(url, 'DELETE FROM millrace.commit_mark')
    const isMet = proxy.faultNext('cut before')
    await send(backend, 'after')
    assert.ok(isMet())
    assert.deepEqual(await bodiesIn(backend), ['before', 'after'])
    await backend.close()
  })

  test('that is stopped in the middle of transactions loses and doubles nothing', async () => {
    await using server = await startPostgresServer({ durable: true })
    await server.createDatabase('stopped')
    const { backend } = await openPostgres({ url: server.url('stopped') })
    await backend.createQueue({ queue: 'q' })
    const acknowledged: string[] = []
    let isOver = false
    const sending = (async () => {
      for (let index = 0; !isOver; index += 1) {
        const body = `m${index}`
        await send(backend, body).then(
          () => acknowledged.push(body),
          () => undefined,
        )
      }
    })()
    for (let round = 0; round < 3; round += 1) {
      const before = acknowledged.length
      while (acknowledged.length < before + 20)
        await new Promise((resolve) => setImmediate(resolve))
      await server.stop('immediate')
      await server.start()
    }
    isOver = true
    await sending
    const stored = await bodiesIn(backend)
    assert.equal(new Set(stored).size, stored.length, 'a message was stored twice')
    assert.deepEqual(
      acknowledged.filter((body) => !stored.includes(body)),
      [],
    )
    await backend.close()
  })
})

async function send(backend: Backend, body: string): Promise<void> {
  await backend.send({ queue: 'q', messages: [{ body }] })
}

async function bodiesIn(backend: Backend): Promise<readonly string[]> {
  const bodies: string[] = []
  let after: string | undefined
  do {
    const page = await backend.peek({
      queue: 'q',
      state: 'ready',
      limit: 1_000,
      ...(after !== undefined && { after }),
    })
    bodies.push(...page.items.map(({ body }) => body))
    after = page.next
  } while (after !== undefined)
  return bodies
}

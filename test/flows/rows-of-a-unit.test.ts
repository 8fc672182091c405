import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, onTestFinished, test } from 'vitest'
import { open } from '../../src/app/open.ts'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { replaceRows } from '../../src/index.ts'
import { virtualPorts } from '../../src/testing/virtual-clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { gate, started, withTime } from '../support/worker-scene.ts'
import { endOf, type Library, library, pagesOf } from './library.ts'

type Extract = (
  page: { readonly documentId: string; readonly page: number },
  context: Parameters<Parameters<Mill['worker']>[0]['handle']['extract']>[1],
) => unknown
type Mill = Awaited<ReturnType<typeof open<Library>>>

/** The library in a file that also holds a table of chunks, as an app would have it. */
async function openChunks(wrap: (backend: Backend) => Backend = (backend) => backend) {
  const folder = await temporaryFolder('chunks')
  const file = folder.file('millrace.db')
  const ports = virtualPorts()
  const store = await openSqlite({ file, ports })
  const mill = await open(library, { backend: wrap(store), ports, log: false })
  const own = new DatabaseSync(file)
  own.exec('CREATE TABLE chunk (document TEXT, unit TEXT, text TEXT UNIQUE)')
  onTestFinished(async () => {
    await withTime(ports.clock, mill.close())
    own.close()
    await store.close()
    await folder.remove()
  })
  const work = (extract: Extract, onEnd: () => void = () => undefined) =>
    started(mill.worker({ poll: ['extract', 'finalize'], handle: { extract, finalize: onEnd } }))
  const texts = () =>
    own
      .prepare('SELECT text FROM chunk ORDER BY text')
      .all()
      .map(({ text }) => text)
  return { mill, store, clock: ports.clock, work, texts }
}

describe('rows that a handler writes within its settlement', () => {
  test('replace those of the same unit, however often it runs', async () => {
    const { mill, clock, work, texts } = await openChunks()
    const runs: number[] = []
    const ends: string[] = []
    work(
      ({ documentId, page }, context) => {
        runs.push(page)
        const rows = ['x', 'y'].map((part) => ({ text: `${page}-${part}-${context.attempt}` }))
        context.within((db) => {
          const where = { document: documentId, unit: context.unit?.unit ?? '' }
          replaceRows(db, { table: 'chunk', where, rows })
        })
      },
      () => void ends.push('end'),
    )
    await mill.flows.extraction.open('d', { units: pagesOf('d', 2), finalize: endOf('d') })
    await clock.advance(1_000)
    // A copy of the message, as a producer that repeats itself would send it.
    await mill.flows.lenient.open('d', { units: pagesOf('d', 2), finalize: endOf('d') })
    await clock.advance(1_000)
    assert.deepEqual(runs, [1, 2, 1, 2])
    assert.deepEqual(texts(), ['1-x-1', '1-y-1', '2-x-1', '2-y-1'])
    assert.deepEqual(ends, ['end', 'end'])
  })

  test('are kept with everything else of the settlement, or not at all', async () => {
    const { mill, clock, work, texts } = await openChunks()
    const attempts: number[] = []
    work(({ page }, context) => {
      attempts.push(context.attempt)
      context.send('failures', { documentId: `${page}` })
      context.within((db) => {
        db.prepare('INSERT INTO chunk VALUES (?, ?, ?)').run('d', 'u', `${page}`)
        if (context.attempt === 1) throw new Error('a second thought')
      })
    })
    await mill.flows.extraction.open('d', { units: pagesOf('d', 1), finalize: endOf('d') })
    await clock.advance(0)
    assert.deepEqual([attempts, texts()], [[1], []])
    assert.equal((await mill.queues.failures.statistics()).ready, 0)
    assert.equal((await mill.flows.extraction.read('d'))?.units.done, 0)
    await clock.advance(2_000)
    assert.deepEqual([attempts, texts()], [[1, 2], ['1']])
    assert.equal((await mill.queues.failures.statistics()).ready, 1)
    assert.equal((await mill.flows.extraction.read('d'))?.status, 'finalized')
  })

  test('that are refused fail the attempt with their own reason, and no neighbour', async () => {
    const { mill, clock, work, texts } = await openChunks()
    work(({ page }, context) => {
      context.within((db) => {
        const where = { document: 'd', unit: `${page}` }
        const text = page === 2 ? '1' : `${page}`
        replaceRows(db, { table: page === 3 ? 'chunk; --' : 'chunk', where, rows: [{ text }] })
      })
    })
    await mill.flows.extraction.open('d', { units: pagesOf('d', 5), finalize: endOf('d') })
    await clock.advance(5_000)
    assert.deepEqual(texts(), ['1', '4', '5'])
    const dead: (readonly [string, string | null])[] = []
    for await (const { unit, reason } of mill.flows.extraction.units('d', { state: 'dead' })) {
      dead.push([unit, reason])
    }
    assert.deepEqual(
      dead.map(([unit]) => unit),
      ['page-2', 'page-3'],
    )
    assert.match(String(dead[0]?.[1]), /UNIQUE constraint failed: chunk\.text/)
    assert.match(String(dead[1]?.[1]), /table: got 'chunk; --', expected a name/)
  })

  test('are refused if the callback is asynchronous', async () => {
    const { mill, clock, work, texts } = await openChunks()
    work((_, context) => {
      context.within(async (db) => {
        db.prepare('INSERT INTO chunk VALUES (?, ?, ?)').run('d', 'u', 'late')
      })
    })
    await mill.flows.extraction.open('d', { units: pagesOf('d', 1), finalize: endOf('d') })
    await clock.advance(5_000)
    assert.deepEqual(texts(), [])
    const flow = await mill.flows.extraction.read('d')
    assert.match(String(flow?.failure?.reason), /must be synchronous/)
  })

  test('cannot emit anything, which would be lost', async () => {
    const { mill, clock, work } = await openChunks()
    work(({ documentId }, context) => {
      context.within(() => context.send('failures', { documentId }))
    })
    await mill.flows.extraction.open('d', { units: pagesOf('d', 1), finalize: endOf('d') })
    await clock.advance(5_000)
    const flow = await mill.flows.extraction.read('d')
    assert.match(String(flow?.failure?.reason), /not in the callback of within/)
    assert.equal((await mill.queues.failures.statistics()).ready, 0)
  })

  test.runIf('setAuthorizer' in DatabaseSync.prototype)(
    "are the app's own: a handler that writes to a table of Millrace is told so",
    async () => {
      const { mill, clock, work } = await openChunks()
      work((_, context) => context.within((db) => db.exec('DELETE FROM message')))
      await mill.flows.extraction.open('d', { units: pagesOf('d', 1), finalize: endOf('d') })
      await clock.advance(5_000)
      const flow = await mill.flows.extraction.read('d')
      assert.match(String(flow?.failure?.reason), /the table 'message', which is Millrace's own/)
    },
  )

  test('are written a moment later when the store is in trouble, at no cost of an attempt', async () => {
    const { mill, clock, work, texts } = await openChunks()
    const attempts: number[] = []
    let isFull = true
    work((_, context) => {
      attempts.push(context.attempt)
      context.within((db) => {
        // As the database reports a disk that is full.
        if (isFull) throw Object.assign(new Error('database or disk is full'), { errcode: 13 })
        db.prepare('INSERT INTO chunk VALUES (?, ?, ?)').run('d', 'u', 'kept')
      })
    })
    await mill.flows.extraction.open('d', { units: pagesOf('d', 1), finalize: endOf('d') })
    await clock.advance(500)
    isFull = false
    await clock.advance(5_000)
    assert.deepEqual([attempts, texts()], [[1], ['kept']])
    assert.equal((await mill.flows.extraction.read('d'))?.status, 'finalized')
  })

  test('of a worker that comes late are not written', async () => {
    // The first worker cannot renew its lease: that is what makes it come late.
    const { mill, clock, work, texts } = await openChunks((backend) =>
      Object.assign(Object.create(backend), {
        extend: async ({ leases }: { readonly leases: readonly unknown[] }) =>
          leases.map(() => ({ status: 'lapsed' })),
      }),
    )
    const late = gate()
    const ends: string[] = []
    work(
      async (_, context) => {
        const { token, attempt } = context
        if (attempt === 1) await late.opened
        const where = { document: 'd', unit: 'page-1' }
        context.within((db) => {
          replaceRows(db, { table: 'chunk', where, rows: [{ text: `by ${attempt} ${token > 0}` }] })
        })
      },
      () => void ends.push('end'),
    )
    await mill.flows.extraction.open('d', { units: pagesOf('d', 1), finalize: endOf('d') })
    await clock.advance(30_000)
    assert.deepEqual([texts(), ends], [['by 2 true'], ['end']])
    late.open()
    await clock.advance(30_000)
    assert.deepEqual([texts(), ends], [['by 2 true'], ['end']])
  })

  test('of the last unit are written once when it is delivered again', async () => {
    const { mill, store, clock, work, texts } = await openChunks()
    const ends: string[] = []
    await mill.flows.extraction.open('d', { units: pagesOf('d', 2), finalize: endOf('d') })
    // Somebody receives the last unit, and loses it.
    const held = await store.receive({ queue: mill.queues.extract.name, max: 2 })
    const [first] = held
    assert.ok(first !== undefined)
    const outcome = { kind: 'release' } as const
    await store.settle({
      queue: mill.queues.extract.name,
      settlements: [{ receipt: first.receipt, outcome }],
    })
    await clock.advance(10_000)
    work(
      ({ page }, context) => {
        const where = { document: 'd', unit: `${page}` }
        context.within((db) => {
          replaceRows(db, { table: 'chunk', where, rows: [{ text: `${page}` }] })
        })
      },
      () => void ends.push('end'),
    )
    await clock.advance(10_000)
    assert.deepEqual([texts(), ends], [['1', '2'], ['end']])
    // Its first receiver comes back after the end.
    for (const { receipt } of held) {
      const done = { kind: 'acknowledge', anyLease: true } as const
      const settlements = [{ receipt, outcome: done }]
      await store.settle({ queue: mill.queues.extract.name, settlements })
    }
    await clock.advance(10_000)
    assert.deepEqual([texts(), ends], [['1', '2'], ['end']])
    assert.equal((await mill.flows.extraction.read('d'))?.units.done, 2)
  })
})

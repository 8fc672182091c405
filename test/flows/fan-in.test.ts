import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { openScene, started, withTime } from '../support/worker-scene.ts'
import { endOf, gathered, library, pagesOf } from './library.ts'

describe('a flow', () => {
  test('of some hundred units through several workers ends once, after the last unit', async () => {
    const { mill, until } = await openScene(library)
    const ran = new Set<number>()
    const ends: { readonly documentId: string; readonly ran: number }[] = []
    const handle = {
      extract: ({ page }: { readonly page: number }) => void ran.add(page),
      finalize: ({ documentId }: { readonly documentId: string }) =>
        void ends.push({ documentId, ran: ran.size }),
    }
    for (let worker = 0; worker < 3; worker += 1) {
      started(mill.worker({ poll: ['extract', 'finalize'], handle, concurrency: 7 }))
    }
    const opened = await mill.flows.extraction.open('d-1', {
      units: pagesOf('d-1', 400),
      finalize: endOf('d-1'),
    })
    assert.deepEqual([opened.status, opened.added, opened.flow.isSealed], ['created', 400, true])
    await until('the flow has ended', () => ends.length > 0)
    await until('all is quiet', async () => (await mill.queues.finalize.statistics()).leased === 0)
    assert.deepEqual(ends, [{ documentId: 'd-1', ran: 400 }])
    const flow = await mill.flows.extraction.read('d-1')
    assert.deepEqual(flow?.units, { total: 400, done: 400, dead: 0, pending: 0 })
    assert.equal(flow?.status, 'finalized')
  })

  test('ends with its opening when it has no units', async () => {
    const { mill } = await openScene(library)
    const { flow } = await mill.flows.extraction.open('d-1', { units: [], finalize: endOf('d-1') })
    assert.equal(flow.status, 'finalized')
    assert.equal((await mill.queues.finalize.statistics()).ready, 1)
  })

  test('of 10,000 units is opened slice by slice, and all of them are there once', async () => {
    const { mill } = await openScene(library)
    let ahead = 0
    let most = 0
    async function* streamed(): AsyncGenerator<{ readonly id: string }> {
      for (const { id } of pagesOf('d-1', 10_000)) {
        ahead += 1
        const { units } = (await lookNowAndThen(ahead)) ?? {}
        if (units !== undefined) most = Math.max(most, ahead - units.total)
        yield { id }
      }
    }
    const lookNowAndThen = (count: number) =>
      count % 500 === 1 && count > 1 ? mill.flows.extraction.read('d-1') : undefined
    const { flow, added } = await mill.flows.extraction.open('d-1', {
      units: streamed(),
      finalize: endOf('d-1'),
    })
    assert.deepEqual([added, flow.units.total, flow.isSealed], [10_000, 10_000, true])
    // Whoever gives units is never asked for more than a slice and one before the store has them.
    assert.ok(most <= 1_001, `${most} units were held at once`)
    for (let from = 1; from <= 10_000; from += 1_000) {
      const units = Array.from({ length: 1_000 }, (_, index) => `page-${from + index}`)
      await mill.flows.extraction.mark('d-1', units)
    }
    assert.equal((await mill.flows.extraction.read('d-1'))?.status, 'finalized')
    assert.equal((await mill.queues.finalize.statistics()).ready, 1)
  })

  test('whose opening stopped in the middle is opened to its end by the same call', async () => {
    const { mill } = await openScene(library)
    const finalize = endOf('d-1')
    function* broken() {
      yield* pagesOf('d-1', 1_500)
      throw new Error('the source of units is gone')
    }
    await assert.rejects(
      mill.flows.extraction.open('d-1', { units: broken(), finalize }),
      /the source of units is gone/,
    )
    const half = await mill.flows.extraction.read('d-1')
    assert.deepEqual([half?.units.total, half?.isSealed, half?.status], [1_000, false, 'open'])

    const again = await mill.flows.extraction.open('d-1', {
      units: pagesOf('d-1', 2_500),
      finalize,
    })
    assert.deepEqual([again.status, again.added], ['duplicate', 1_500])
    assert.deepEqual([again.flow.units.total, again.flow.isSealed], [2_500, true])
    assert.equal((await mill.queues.extract.statistics()).ready, 2_500)

    let asked = 0
    const watched = {
      *[Symbol.iterator]() {
        for (const unit of pagesOf('d-1', 2_500)) {
          asked += 1
          yield unit
        }
      },
    }
    const third = await mill.flows.extraction.open('d-1', { units: watched, finalize })
    assert.deepEqual([third.status, third.added], ['duplicate', 0])
    assert.ok(asked <= 1_001, 'a flow that is sealed needs no more units')
  })

  test('does not end while units are still being added, however fast they are done', async () => {
    const { mill, until } = await openScene(library)
    const ran: unknown[] = []
    const ends: unknown[] = []
    const handle = {
      extract: (page: unknown) => void ran.push(page),
      finalize: (document: unknown) => void ends.push(document),
    }
    started(mill.worker({ poll: ['extract', 'finalize'], handle }))
    await mill.flows.extraction.open('d-1', { units: [], finalize: endOf('d-1'), seal: false })
    for (const unit of pagesOf('d-1', 20)) {
      const before = ran.length
      await mill.flows.extraction.add('d-1', [unit])
      await until('the unit is done', () => ran.length > before)
      assert.deepEqual(ends, [])
    }
    const twice = await mill.flows.extraction.add('d-1', pagesOf('d-1', 21), { seal: true })
    assert.deepEqual([twice.added, twice.duplicates], [1, 20])
    await until('the flow has ended', () => ends.length > 0)
    assert.deepEqual([ran.length, ends.length], [21, 1])
    await assert.rejects(mill.flows.extraction.add('d-1', [{ id: 'page-22' }]), {
      code: 'flow_finished',
    })
  })

  test('opened by two processes at once has its units once, and both are told of it', async () => {
    const { mill } = await openScene(library)
    const open = () =>
      mill.flows.extraction.open('d-1', { units: pagesOf('d-1', 3_000), finalize: endOf('d-1') })
    const [one, other] = await Promise.all([open(), open()])
    assert.deepEqual([one.status, other.status].toSorted(), ['created', 'duplicate'])
    assert.equal(one.added + other.added, 3_000)
    assert.equal((await mill.queues.extract.statistics()).ready, 3_000)
    assert.equal((await mill.flows.extraction.read('d-1'))?.isSealed, true)
  })

  test('tells which units are missing, and which of them were given up', async () => {
    const { mill, clock } = await openScene(library)
    await mill.flows.extraction.open('d-1', { units: pagesOf('d-1', 4), finalize: endOf('d-1') })
    const broken = (page: number): boolean => page === 2
    const worker = mill.worker({
      poll: ['extract'],
      handle: {
        extract: ({ page }, { signal }) => {
          if (broken(page)) throw new Error('unreadable')
          if (page === 4)
            return new Promise((_, reject) => signal.addEventListener('abort', reject))
          return undefined
        },
      },
    })
    worker.start()
    await clock.advance(5_000)
    const missing = await gathered(mill.flows.extraction.missing('d-1'))
    assert.deepEqual(
      missing.map(({ unit, state, reason }) => [unit, state, reason]),
      [
        ['page-4', 'pending', null],
        ['page-2', 'dead', 'unreadable'],
      ],
    )
    const done = await gathered(mill.flows.extraction.units('d-1', { state: 'done' }))
    assert.deepEqual(
      done.map(({ unit }) => unit),
      ['page-1', 'page-3'],
    )
    const all = await gathered(mill.flows.extraction.units('d-1'))
    assert.equal(all.length, 4)
    await withTime(clock, worker.stop({ timeoutMs: 0 }))
  })

  test('is listed with the others of its kind, newest first', async () => {
    const { mill } = await openScene(library)
    const finalize = endOf('d')
    for (const id of ['a', 'b', 'c']) await mill.flows.extraction.open(id, { units: [], finalize })
    await mill.flows.extraction.open('d', { units: [{ id: 'u' }], finalize })
    await mill.flows.lenient.open('x', { units: [], finalize })
    const ids = async (options?: Parameters<typeof mill.flows.extraction.list>[0]) =>
      (await mill.flows.extraction.list(options)).items.map(({ id }) => id)
    assert.deepEqual(await ids(), ['d', 'c', 'b', 'a'])
    assert.deepEqual(await ids({ status: 'open' }), ['d'])
    const first = await mill.flows.extraction.list({ limit: 3 })
    assert.ok(first.next !== undefined)
    assert.deepEqual(await ids({ after: first.next }), ['a'])
  })
})

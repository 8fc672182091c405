import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { MillraceError } from '../../src/index.ts'
import { openScene, started, type WorkerScene, withTime } from '../support/worker-scene.ts'
import { endOf, gathered, type Library, library, pagesOf } from './library.ts'

/** Starts a worker for which some pages cannot be read, and gathers who heard of an end. */
function work(
  { mill }: WorkerScene<Library>,
  isBroken: (page: number) => boolean,
): { readonly heard: readonly string[] } {
  const heard: string[] = []
  const extract = ({ page }: { readonly page: number }): void => {
    if (isBroken(page)) throw new Error('unreadable')
  }
  const worker = mill.worker({
    poll: ['extract', 'scan', 'finalize', 'failures'],
    handle: {
      extract,
      SCAN: extract,
      finalize: () => void heard.push('finalize'),
      failures: () => void heard.push('failures'),
    },
  })
  started(worker)
  return { heard }
}

const isSecond = (page: number): boolean => page === 2

describe('a unit that is given up', () => {
  test('lets its flow wait until it is redriven and done', async () => {
    const scene = await openScene(library)
    const { mill, clock } = scene
    let isBroken = isSecond
    const { heard } = work(scene, (page) => isBroken(page))
    await mill.flows.extraction.open('d', { units: pagesOf('d', 3), finalize: endOf('d') })
    await clock.advance(10_000)
    const waiting = await mill.flows.extraction.read('d')
    assert.deepEqual(waiting?.units, { total: 3, done: 2, dead: 1, pending: 0 })
    assert.deepEqual([waiting?.status, heard], ['open', []])
    assert.deepEqual(waiting?.failure, { unit: 'page-2', reason: 'unreadable' })

    isBroken = () => false
    const redrive = await mill.queues.extract.deadLetters?.redrive()
    await clock.advance(10_000)
    assert.ok(redrive !== undefined)
    const ended = await mill.flows.extraction.read('d')
    assert.deepEqual([ended?.status, ended?.units.done, heard], ['finalized', 3, ['finalize']])
  })

  test('fails its flow where that is declared, which says where and why', async () => {
    const scene = await openScene(library)
    const { mill, clock } = scene
    const { heard } = work(scene, isSecond)
    const ends = { finalize: endOf('d'), failed: endOf('d') }
    await mill.flows.strict.open('d', { units: pagesOf('d', 3), ...ends })
    await clock.advance(10_000)
    const failed = await mill.flows.strict.read('d')
    assert.deepEqual([failed?.status, heard], ['failed', ['failures']])
    assert.deepEqual(failed?.failure, { unit: 'page-2', reason: 'unreadable' })
  })

  test('is left out of the end where that is declared', async () => {
    const scene = await openScene(library)
    const { mill, clock } = scene
    const { heard } = work(scene, isSecond)
    await mill.flows.lenient.open('d', { units: pagesOf('d', 3), finalize: endOf('d') })
    await clock.advance(10_000)
    const ended = await mill.flows.lenient.read('d')
    assert.deepEqual([ended?.status, heard], ['finalized', ['finalize']])
    assert.deepEqual(ended?.units, { total: 3, done: 2, dead: 1, pending: 0 })
  })

  test('can be given up by hand, and marked done all the same later', async () => {
    const { mill } = await openScene(library)
    const units = [{ id: 'a' }, { id: 'b' }]
    await mill.flows.extraction.open('d', { units, finalize: endOf('d') })
    await mill.flows.extraction.mark('d', 'a')
    const given = await mill.flows.extraction.failUnit('d', 'b', 'nobody knows how')
    assert.deepEqual(given.failure, { unit: 'b', reason: 'nobody knows how' })
    assert.equal((await mill.flows.extraction.mark('d', 'b')).status, 'finalized')
    assert.equal((await mill.queues.finalize.statistics()).ready, 1)
  })
})

describe('a job that is a unit', () => {
  const scans = function* (pages: number) {
    for (const { id, message } of pagesOf('d', pages)) {
      yield { id, type: 'SCAN' as const, payload: message, options: { owner: 'anna' } }
    }
  }

  test('gives the unit up when it fails or is cancelled, and does it when it is tried again', async () => {
    const scene = await openScene(library)
    const { mill, clock } = scene
    let isBroken = isSecond
    await mill.flows.scans.open('d', { units: scans(3), finalize: endOf('d') })
    const [third] = (await mill.jobs.list('scan')).items
    assert.deepEqual(third?.payload, { documentId: 'd', page: 3 })
    await mill.jobs.cancel(third.id)
    const { heard } = work(scene, (page) => isBroken(page))
    await clock.advance(20_000)
    assert.deepEqual((await mill.flows.scans.read('d'))?.units, {
      total: 3,
      done: 1,
      dead: 2,
      pending: 0,
    })
    isBroken = () => false
    const failed = (await mill.jobs.list('scan', { status: 'failed' })).items
    assert.equal(failed.length, 1)
    for (const { id } of failed) await mill.jobs.retry(id)
    await clock.advance(20_000)
    assert.equal((await mill.flows.scans.read('d'))?.units.done, 2)
    assert.deepEqual(heard, [])
    // What the flow remembers of the unit is enough to do it once more.
    await mill.flows.scans.resume('d', 'page-3')
    await clock.advance(20_000)
    assert.equal((await mill.flows.scans.read('d'))?.status, 'finalized')
    assert.deepEqual(heard, ['finalize'])
    const again = (await mill.jobs.list('scan', { status: 'completed' })).items
    assert.ok(again.every(({ owner }) => owner === 'anna'))
  })

  test('is done once more with the work that is given, where the flow remembers none', async () => {
    const { mill } = await openScene(library)
    await mill.flows.extraction.open('d', { units: pagesOf('d', 1), finalize: endOf('d') })
    await mill.flows.extraction.failUnit('d', 'page-1', 'wrong page')
    await assert.rejects(mill.flows.extraction.resume('d', 'page-1'), { code: 'invalid_argument' })
    const message = { documentId: 'd', page: 7 }
    await mill.flows.extraction.resume('d', 'page-1', { message })
    const received = await mill.queues.extract.receive({ max: 10 })
    const pages = received.map((delivery) => delivery.message.page)
    assert.deepEqual(pages, [1, 7])
    for (const delivery of received.slice(0, 1)) await delivery.acknowledge()
    // The message that the unit had before means nothing to it any more.
    assert.equal((await mill.flows.extraction.read('d'))?.status, 'open')
    for (const delivery of received.slice(1)) await delivery.acknowledge()
    assert.equal((await mill.flows.extraction.read('d'))?.status, 'finalized')
  })
})

describe('a flow that is cancelled', () => {
  test('takes back what nobody holds, and what runs may end without effect', async () => {
    const scene = await openScene(library)
    const { mill, clock } = scene
    await mill.flows.extraction.open('d', { units: pagesOf('d', 5), finalize: endOf('d') })
    const [held] = await mill.queues.extract.receive({ max: 1 })
    assert.equal((await mill.flows.extraction.cancel('d')).status, 'cancelled')
    await clock.advance(5_000)
    const { ready, leased } = await mill.queues.extract.statistics()
    assert.deepEqual([ready, leased], [0, 1])
    assert.equal((await held?.acknowledge())?.status, 'settled')
    assert.equal((await mill.flows.extraction.read('d'))?.status, 'cancelled')
    assert.equal((await mill.queues.finalize.statistics()).ready, 0)
    await assert.rejects(mill.flows.extraction.add('d', [{ id: 'x' }]), { code: 'flow_finished' })
  })
})

describe('a flow past its deadline', () => {
  test('is reported, and still ends when its units do', async () => {
    const { mill, clock } = await openScene(library)
    await mill.flows.late.open('d', { units: [{ id: 'a' }], finalize: endOf('d') })
    await withTime(clock, clock.advance(39 * 60_000))
    assert.equal((await mill.flows.late.list({ overdue: true })).items.length, 0)
    await clock.advance(2 * 60_000)
    const [overdue] = (await mill.flows.late.list({ overdue: true })).items
    assert.deepEqual([overdue?.id, overdue?.isOverdue, overdue?.status], ['d', true, 'open'])
    assert.equal((await mill.flows.late.mark('d', 'a')).status, 'finalized')
  })
})

describe('what a flow does not know', () => {
  test('is refused with a code that says what it was', async () => {
    const { mill } = await openScene(library)
    const { extraction } = mill.flows
    const finalize = endOf('d')
    assert.equal(await extraction.read('d'), undefined)
    for (const call of [
      () => extraction.seal('d'),
      () => extraction.mark('d', 'a'),
      () => extraction.cancel('d'),
      () => extraction.add('d', [{ id: 'a' }]),
      () => extraction.add('d', []),
      () => extraction.resume('d', 'a'),
      () => gathered(extraction.units('d')),
    ]) {
      await assert.rejects(call, { code: 'flow_not_found' })
    }
    await extraction.open('d', { units: [{ id: 'a' }], finalize })
    await assert.rejects(extraction.mark('d', 'b'), { code: 'unit_not_found' })
    await assert.rejects(extraction.add('d', [{ id: 'b' }]), { code: 'flow_sealed' })
    const parent = { flow: 'volumes', id: 'v', unit: 'u' } as const
    await assert.rejects(extraction.open('e', { units: [], finalize, parent }), {
      code: 'flow_not_found',
    })
  })

  test('is refused with the place of each unit, and nothing of its slice is kept', async () => {
    const { mill } = await openScene(library)
    const units = [
      { id: 'a', message: { documentId: 'd', page: 1 } },
      { id: 'b', message: { documentId: 'd', page: 'two' } },
      { id: 'c', message: { documentId: 5, page: 3 } },
    ]
    // @ts-expect-error the types know what a page is
    const refused = mill.flows.extraction.open('d', { units, finalize: endOf('d') })
    await assert.rejects(refused, (error) => {
      assert.ok(error instanceof MillraceError)
      assert.equal(error.code, 'invalid_message')
      assert.deepEqual(
        error.violations.map(({ field }) => field),
        ['units[1].message.page', 'units[2].message.documentId'],
      )
      return true
    })
    assert.equal(await mill.flows.extraction.read('d'), undefined)
  })

  test.each([
    ['units', 'abc'],
    ['units', undefined],
    ['units', 5],
    ['units[0].id', [{ message: { documentId: 'd', page: 1 } }]],
    ['units[0].id', [{ id: '' }]],
    ['units[0].id', ['a']],
    ['units[0].work', [{ id: 'a', type: 'SCAN', payload: {} }]],
    ['units[0].work', [{ id: 'a', message: undefined }]],
    ['units[0].body', [{ id: 'a', body: { documentId: 'd', page: 1 } }]],
    [
      'units[0].options.deduplicationId',
      [{ id: 'a', message: { documentId: 'd', page: 1 }, options: { deduplicationId: 'x' } }],
    ],
  ])('is refused where %s is wrong', async (field, units) => {
    const { mill } = await openScene(library)
    // @ts-expect-error what plain JavaScript may give
    const refused = mill.flows.extraction.open('d', { units, finalize: endOf('d') })
    await assert.rejects(refused, (error) => {
      assert.ok(error instanceof MillraceError)
      assert.deepEqual(
        error.violations.map((one) => one.field),
        [field],
      )
      return true
    })
  })

  test('is refused where nobody would see it: settings, states', async () => {
    const { mill } = await openScene(library)
    const { extraction } = mill.flows
    const options = { units: [], finalize: endOf('d'), sealed: false }
    await assert.rejects(extraction.open('d', options), /sealed: got an unknown option/)
    assert.equal(await extraction.read('d'), undefined)
    // @ts-expect-error there is no such status
    await assert.rejects(extraction.list({ status: 'running' }), { code: 'invalid_argument' })
    // @ts-expect-error there is no such state
    await assert.rejects(gathered(extraction.units('d', { state: 'lost' })), /one of pending/)
  })

  test('is refused where an end is missing, or was not declared', async () => {
    const { mill } = await openScene(library)
    // @ts-expect-error finalize is declared
    await assert.rejects(mill.flows.extraction.open('d', { units: [] }), /finalize\.work/)
    const failed = endOf('d')
    await assert.rejects(
      // @ts-expect-error failed is not declared
      mill.flows.extraction.open('d', { units: [], finalize: endOf('d'), failed }),
      /failed: got work, expected none/,
    )
    assert.equal(await mill.flows.extraction.read('d'), undefined)
  })
})

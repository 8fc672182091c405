import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { openScene, started } from '../support/worker-scene.ts'
import { endOf, library, pagesOf } from './library.ts'

const never = (): never => assert.fail('nobody should run this')

describe('a handler', () => {
  test('opens a flow with its completion, and learns which unit it works on', async () => {
    const { mill, until } = await openScene(library)
    const units: unknown[] = []
    const ends: unknown[] = []
    started(
      mill.worker({
        poll: ['prepare', 'extract', 'finalize'],
        handle: {
          prepare: ({ documentId, pages }, context) => {
            assert.equal(context.unit, null)
            const finalize = endOf(documentId)
            context.open('extraction', documentId, { units: pagesOf(documentId, pages), finalize })
          },
          extract: (_, context) => void units.push(context.unit),
          finalize: (document, context) => void ends.push([document, context.unit]),
        },
      }),
    )
    await mill.queues.prepare.send({ documentId: 'd', pages: 2 })
    await until('the flow has ended', () => ends.length > 0)
    assert.deepEqual(units, [
      { flow: 'extraction', id: 'd', unit: 'page-1' },
      { flow: 'extraction', id: 'd', unit: 'page-2' },
    ])
    assert.deepEqual(ends, [[{ documentId: 'd' }, null]])
  })

  test('that fails after it has opened a flow leaves none, and one when it succeeds', async () => {
    const { mill, clock } = await openScene(library)
    let runs = 0
    started(
      mill.worker({
        poll: ['prepare'],
        handle: {
          prepare: ({ documentId, pages }, context) => {
            runs += 1
            const finalize = endOf(documentId)
            context.open('extraction', documentId, { units: pagesOf(documentId, pages), finalize })
            if (runs === 1) throw new Error('not yet')
          },
        },
      }),
    )
    await mill.queues.prepare.send({ documentId: 'd', pages: 3 })
    await clock.advance(0)
    assert.deepEqual([runs, await mill.flows.extraction.read('d')], [1, undefined])
    await clock.advance(1_000)
    assert.equal((await mill.flows.extraction.read('d'))?.units.total, 3)
    assert.equal(runs, 2)
  })

  test.each([
    ['a unit that is not part of the flow', 'unit_not_found', 'd'],
    ['a flow that there is not', 'flow_not_found', 'other'],
  ])('that marks %s fails, and nothing that it sent exists', async (_, code, id) => {
    const { mill, clock, lines } = await openScene(library)
    await mill.flows.extraction.open('d', { units: [{ id: 'a' }], finalize: endOf('d') })
    started(
      mill.worker({
        poll: ['prepare'],
        handle: {
          prepare: (_message, context) => {
            context.send('failures', { documentId: 'd' })
            context.mark('extraction', 'd', 'a')
            context.mark('extraction', id, 'nobody')
          },
        },
      }),
    )
    await mill.queues.prepare.send({ documentId: 'd', pages: 0 })
    await clock.advance(10_000)
    const letters = await mill.queues.prepare.deadLetters?.peek()
    const texts = {
      unit_not_found: /does not exist in this flow/,
      flow_not_found: /flow does not exist/,
    }
    assert.match(
      letters?.items[0]?.deadLetterOrigin?.reason ?? '',
      texts[code as keyof typeof texts],
    )
    assert.equal((await mill.queues.failures.statistics()).ready, 0)
    assert.equal((await mill.flows.extraction.read('d'))?.units.done, 0)
    assert.ok(lines.length > 0)
  })

  test('marks units beside its own in the commit of its completion', async () => {
    const { mill, until } = await openScene(library)
    await mill.flows.extraction.open('d', {
      units: [{ id: 'a' }, { id: 'b' }],
      finalize: endOf('d'),
    })
    started(
      mill.worker({
        poll: ['prepare'],
        handle: {
          prepare: (_, context) => {
            context.mark('extraction', 'd', 'a')
            context.mark('extraction', 'd', 'b')
          },
        },
      }),
    )
    await mill.queues.prepare.send({ documentId: 'd', pages: 0 })
    await until(
      'the flow has ended',
      async () => (await mill.flows.extraction.read('d'))?.status === 'finalized',
    )
    assert.equal((await mill.queues.finalize.statistics()).ready, 1)
  })

  test('opens at most as many units as fit into one commit', async () => {
    const { mill, clock } = await openScene(library)
    const reasons: unknown[] = []
    started(
      mill.worker({
        poll: ['prepare'],
        handle: {
          prepare: ({ documentId, pages }, context) => {
            const finalize = endOf(documentId)
            context.open('extraction', documentId, { units: pagesOf(documentId, pages), finalize })
          },
        },
        onEvent: ({ event, error }) => {
          if (event === 'failed') reasons.push(error)
        },
      }),
    )
    await mill.queues.prepare.send({ documentId: 'most', pages: 1_000 })
    await mill.queues.prepare.send({ documentId: 'more', pages: 1_001 })
    await clock.advance(10_000)
    assert.equal((await mill.flows.extraction.read('most'))?.units.total, 1_000)
    assert.equal(await mill.flows.extraction.read('more'), undefined)
    assert.match(String(reasons), /units: got more than 1000, expected at most 1000/)
  })
})

describe('a flow that stands for a unit', () => {
  /** Volumes of documents: a unit of the outer flow is a flow of pages. */
  async function openVolumes() {
    const scene = await openScene(library)
    const ran: string[] = []
    const isBroken = new Set<string>()
    const worker = scene.mill.worker({
      poll: ['prepare', 'extract', 'finalize'],
      handle: {
        prepare: ({ documentId, pages }, context) => {
          const units = pagesOf(documentId, pages)
          context.open('lenient', documentId, {
            units,
            finalize: endOf(documentId),
            takeOver: true,
          })
        },
        extract: ({ documentId, page }) => {
          if (isBroken.has(documentId)) throw new Error('unreadable')
          ran.push(`${documentId}-${page}`)
        },
        finalize: ({ documentId }, { unit }) => {
          if (isBroken.has(`end of ${documentId}`)) throw new Error('no room')
          ran.push(`end of ${documentId}${unit === null ? '' : ` for ${unit.unit}`}`)
        },
      },
    })
    worker.start()
    const units = ['a', 'b'].map((documentId) => ({
      id: documentId,
      message: { documentId, pages: 2 },
    }))
    await scene.mill.flows.volumes.open('v', { units, finalize: endOf('v') })
    return { ...scene, ran, isBroken }
  }

  test('does the unit when somebody has acknowledged its end, and not before', async () => {
    const { mill, until, ran } = await openVolumes()
    await until('all have ended', () => ran.includes('end of v'))
    assert.deepEqual(ran.toSorted(), [
      'a-1',
      'a-2',
      'b-1',
      'b-2',
      'end of a for a',
      'end of b for b',
      'end of v',
    ])
    assert.equal(ran.at(-1), 'end of v')
    const child = await mill.flows.lenient.read('a')
    assert.deepEqual(child?.parent, { flow: mill.flows.volumes.name, id: 'v', unit: 'a' })
  })

  test('gives the unit up when its end is dead-lettered, and does it after a redrive', async () => {
    const { mill, clock, isBroken, ran } = await openVolumes()
    isBroken.add('end of b')
    await clock.advance(10_000)
    const waiting = await mill.flows.volumes.read('v')
    assert.deepEqual(waiting?.units, { total: 2, done: 1, dead: 1, pending: 0 })
    assert.deepEqual(waiting?.failure, { unit: 'b', reason: 'no room' })
    isBroken.clear()
    await mill.queues.finalize.deadLetters?.redrive()
    await clock.advance(10_000)
    assert.equal((await mill.flows.volumes.read('v'))?.status, 'finalized')
    assert.equal(ran.filter((one) => one === 'end of v').length, 1)
  })

  test('gives the unit up when it is cancelled, and is cancelled with the outer flow', async () => {
    const { mill, clock } = await openScene(library)
    const finalize = endOf('x')
    const child = (id: string) =>
      mill.flows.extraction.open(id, {
        units: pagesOf(id, 2),
        finalize,
        parent: { flow: 'volumes', id: 'v', unit: id },
      })
    await mill.flows.volumes.open('v', { units: [{ id: 'a' }, { id: 'b' }], finalize })
    await child('a')
    await child('b')
    await mill.flows.extraction.cancel('a')
    const given = await mill.flows.volumes.read('v')
    assert.deepEqual([given?.units.dead, given?.failure?.unit], [1, 'a'])
    await mill.flows.volumes.cancel('v')
    await clock.advance(10_000)
    assert.equal((await mill.flows.extraction.read('b'))?.status, 'cancelled')
    assert.equal((await mill.queues.extract.statistics()).ready, 0)
  })

  test('is refused where the handler works on no unit', async () => {
    const { mill, clock } = await openScene(library)
    const errors: unknown[] = []
    started(
      mill.worker({
        poll: ['prepare'],
        handle: {
          prepare: (_, context) => {
            const finalize = endOf('d')
            context.open('extraction', 'd', { units: [], finalize, takeOver: true })
            never()
          },
        },
        onEvent: ({ event, error }) => {
          if (event === 'failed') errors.push(error)
        },
      }),
    )
    await mill.queues.prepare.send({ documentId: 'd', pages: 0 })
    await clock.advance(10_000)
    assert.match(String(errors), /takeOver: got true, expected a handler whose message is the unit/)
  })
})

import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { MillraceError } from '../../src/index.ts'
import { openScene, started } from '../support/worker-scene.ts'
import { academy, statesOf, work } from './academy.ts'

describe('a chain', () => {
  test('runs its steps in order, each with what the one before has come to', async () => {
    const scene = await openScene(academy)
    const { mill, clock } = scene
    const { ran } = work(scene)
    const { status, chain: run } = await mill.chains.course.start('c', { topic: 'tides' })
    assert.deepEqual([status, run.status, run.start], ['created', 'running', { topic: 'tides' }])
    await clock.advance(1_000)
    assert.deepEqual(ran, ['outline tides', 'write 3', 'print 30'])
    const ended = await mill.chains.course.read('c')
    assert.deepEqual([ended?.status, ended?.step, ended?.failure], ['completed', null, null])
    assert.deepEqual(await statesOf(scene, 'c'), ['done', 'done', 'done'])
    assert.equal(await mill.chains.course.read('d'), undefined)
  })

  test('is started once, whoever starts it again', async () => {
    const scene = await openScene(academy)
    const { mill, clock } = scene
    const { ran } = work(scene)
    await mill.chains.course.start('c', { topic: 'tides' })
    const again = await mill.chains.course.start('c', { topic: 'winds' })
    assert.deepEqual([again.status, again.chain.start], ['duplicate', { topic: 'tides' }])
    await clock.advance(1_000)
    assert.equal((await mill.chains.course.start('c', { topic: 'tides' })).status, 'duplicate')
    await clock.advance(1_000)
    assert.equal(ran.length, 3)
  })

  test('passes owner, tenant and trace on from step to step', async () => {
    const scene = await openScene(academy)
    const { mill, clock } = scene
    work(scene)
    const options = { owner: 'anna', tenant: 'acme', traceId: 't-1' }
    await mill.chains.course.start('c', { topic: 'tides' }, { options })
    await clock.advance(1_000)
    const { items } = await mill.jobs.list('courses', { type: 'WRITE' })
    assert.deepEqual(
      items.map(({ owner, traceId, tenant }) => ({ owner, traceId, tenant })),
      [options],
    )
  })

  test('stops at a step that fails for good, says where and why, and goes on from there', async () => {
    const scene = await openScene(academy)
    const { mill, clock } = scene
    let isBroken = true
    const write = (chapters: number) => {
      if (isBroken) throw new Error('no words')
      return { pages: chapters }
    }
    const { ran } = work(scene, { write })
    await mill.chains.course.start('c', { topic: 'tides' })
    await clock.advance(10_000)
    const stopped = await mill.chains.course.read('c')
    assert.deepEqual([stopped?.status, stopped?.step], ['failed', 'write'])
    assert.deepEqual(stopped?.failure, { step: 'write', reason: 'no words' })
    assert.deepEqual(await statesOf(scene, 'c'), ['done', 'failed', 'waiting'])
    assert.deepEqual(ran, ['outline tides', 'write 3', 'write 3'])

    isBroken = false
    const resumed = await mill.chains.course.resume('c')
    assert.deepEqual([resumed.status, resumed.step, resumed.failure], ['running', 'write', null])
    await clock.advance(10_000)
    assert.equal((await mill.chains.course.read('c'))?.status, 'completed')
    assert.deepEqual(ran.slice(3), ['write 3', 'print 3'])
  })

  test('starts a successor once, though the step before is delivered again', async () => {
    const scene = await openScene(academy)
    const { mill, backend, clock } = scene
    await mill.chains.brochure.start('b', { pages: 1 })
    const name = mill.queues.print.name
    const [lost] = await backend.receive({ queue: name, max: 1, visibilityMs: 1_000 })
    assert.ok(lost !== undefined)
    await clock.advance(2_000)
    const { ran } = work(scene)
    await clock.advance(2_000)
    assert.deepEqual(ran, ['print 1', 'bind tides'])
    // The one who lost it comes back, as a client of the wire may.
    const outcome = { kind: 'acknowledge', anyLease: true } as const
    await backend.settle({ queue: name, settlements: [{ receipt: lost.receipt, outcome }] })
    await clock.advance(2_000)
    assert.deepEqual(ran, ['print 1', 'bind tides'])
    assert.equal((await mill.chains.brochure.read('b'))?.status, 'completed')
  })

  test('fails at the step whose result does not fit the one after it', async () => {
    const scene = await openScene(academy)
    const { mill, clock } = scene
    const { ran } = work(scene, { write: () => ({ pages: 'many' }) })
    await mill.chains.course.start('c', { topic: 'tides' })
    await clock.advance(10_000)
    const stopped = await mill.chains.course.read('c')
    assert.equal(stopped?.failure?.step, 'write')
    assert.match(String(stopped?.failure?.reason), /step 'print'\.message\.pages: .*expected/)
    assert.equal(ran.includes('print'), false)
    assert.equal((await mill.queues.print.statistics()).ready, 0)
  })

  test('fails at a step that answers nothing where the next one needs something', async () => {
    const scene = await openScene(academy)
    const { mill, clock } = scene
    work(scene, { write: () => undefined })
    await mill.chains.course.start('c', { topic: 'tides' })
    await clock.advance(10_000)
    const { failure } = (await mill.chains.course.read('c')) ?? {}
    assert.deepEqual(
      [failure?.step, String(failure?.reason).includes("step 'print'")],
      ['write', true],
    )
  })

  test('that is cancelled lets its step end, and starts no other', async () => {
    const scene = await openScene(academy)
    const { mill, clock } = scene
    const { ran } = work(scene, {
      outline: async () => {
        await mill.chains.course.cancel('c')
        return { chapters: 3 }
      },
    })
    await mill.chains.course.start('c', { topic: 'tides' })
    await clock.advance(10_000)
    assert.deepEqual(ran, ['outline tides'])
    assert.equal((await mill.chains.course.read('c'))?.status, 'cancelled')
    await assert.rejects(mill.chains.course.resume('c'), { code: 'flow_finished' })
    const listed = await mill.chains.course.list({ status: 'cancelled' })
    assert.deepEqual(
      listed.items.map(({ id, start }) => ({ id, start })),
      [{ id: 'c', start: { topic: 'tides' } }],
    )
    // @ts-expect-error what plain JavaScript may give
    await assert.rejects(mill.chains.course.list({ status: 'open' }), { code: 'invalid_argument' })
  })

  test('is not started with what its first step does not take', async () => {
    const { mill } = await openScene(academy)
    // @ts-expect-error a topic is a text
    await assert.rejects(mill.chains.course.start('c', { topic: 5 }), (error) => {
      assert.ok(error instanceof MillraceError)
      assert.deepEqual(
        error.violations.map(({ field }) => field),
        ["step 'outline'.payload.topic"],
      )
      return true
    })
    await assert.rejects(mill.chains.course.start('', { topic: 'tides' }), {
      code: 'invalid_argument',
    })
    assert.equal(await mill.chains.course.read('c'), undefined)
  })
})

describe('chains and flows within each other', () => {
  test('a handler starts a chain that stands for its unit', async () => {
    const { mill, clock } = await openScene(academy)
    const ran: string[] = []
    started(
      mill.worker({
        poll: ['print', 'courses', 'bound'],
        handle: {
          print: ({ pages }, context) => {
            ran.push(`print ${pages}`)
            if (pages > 5) return
            context.start('course', `c-${pages}`, { topic: 'tides' }, { takeOver: true })
          },
          OUTLINE: () => ({ chapters: 1 }),
          WRITE: () => ({ pages: 10 }),
          bound: () => void ran.push('bound'),
        },
      }),
    )
    const units = [
      { id: 'a', message: { pages: 1 } },
      { id: 'b', message: { pages: 2 } },
    ]
    await mill.flows.shelf.open('s', { units, finalize: { message: { topic: 'all' } } })
    await clock.advance(1_000)
    assert.deepEqual(ran.toSorted(), ['bound', 'print 1', 'print 10', 'print 10', 'print 2'])
    assert.equal(ran.at(-1), 'bound')
    assert.equal((await mill.flows.shelf.read('s'))?.status, 'finalized')
  })

  test('a flow stands for a step, and the handler of its end answers for the next', async () => {
    const { mill, clock } = await openScene(academy)
    const ran: string[] = []
    started(
      mill.worker({
        poll: ['courses', 'chapters', 'bound', 'print'],
        handle: {
          OUTLINE: () => ({ chapters: 2 }),
          WRITE: ({ topic, chapters }, context) => {
            const units = Array.from({ length: chapters }, (_, index) => ({
              id: `${index}`,
              message: { chapter: index },
            }))
            const finalize = { message: { topic } }
            context.open('chapters', topic, { units, finalize, takeOver: true })
            return { pages: 'not known yet' }
          },
          chapters: ({ chapter }) => void ran.push(`chapter ${chapter}`),
          bound: (_, { unit }) => {
            ran.push(`bound for ${unit?.flow} ${unit?.unit}`)
            return { pages: 7 }
          },
          print: ({ pages }) => void ran.push(`print ${pages}`),
        },
      }),
    )
    await mill.chains.course.start('c', { topic: 'tides' })
    await clock.advance(1_000)
    assert.deepEqual(ran, ['chapter 0', 'chapter 1', 'bound for course write', 'print 7'])
    assert.equal((await mill.chains.course.read('c'))?.status, 'completed')
  })

  test('a flow without an end to hear of cannot stand for a step', async () => {
    const { mill, clock } = await openScene(academy)
    started(
      mill.worker({
        poll: ['print'],
        handle: {
          print: (_, context) => context.open('silent', 's', { units: [], takeOver: true }),
        },
      }),
    )
    await mill.chains.brochure.start('b', { pages: 1 })
    await clock.advance(10_000)
    const { failure } = (await mill.chains.brochure.read('b')) ?? {}
    assert.match(String(failure?.reason), /takeOver: .*expected a flow that declares finalize/)
  })
})

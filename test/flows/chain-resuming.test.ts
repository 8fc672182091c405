import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { deadLetter } from '../../src/index.ts'
import { gate, openScene } from '../support/worker-scene.ts'
import { academy, statesOf, work } from './academy.ts'

describe('resuming a chain', () => {
  test('goes on from an earlier step, with something else, and does all after it again', async () => {
    const scene = await openScene(academy)
    const { mill, clock } = scene
    const { ran } = work(scene, {
      print: (pages) => (pages > 20 ? deadLetter('too many pages') : undefined),
    })
    await mill.chains.course.start('c', { topic: 'tides' })
    await clock.advance(10_000)
    assert.equal((await mill.chains.course.read('c'))?.failure?.reason, 'too many pages')
    const payload = { topic: 'tides', chapters: 2 }
    await mill.chains.course.resume('c', { from: 'write', payload })
    await clock.advance(10_000)
    assert.deepEqual(ran, ['outline tides', 'write 3', 'print 30', 'write 2', 'print 20'])
    assert.equal((await mill.chains.course.read('c'))?.status, 'completed')
  })

  test('is refused with a gap, from a step that it has not, or without a payload that fits', async () => {
    const scene = await openScene(academy)
    const { mill, clock } = scene
    work(scene, { outline: () => deadLetter('no idea') })
    const { course } = mill.chains
    await assert.rejects(course.resume('c'), { code: 'flow_not_found' })
    await course.start('c', { topic: 'tides' })
    await clock.advance(1_000)
    await assert.rejects(
      course.resume('c', { from: 'print', payload: { pages: 1 } }),
      /from: got 'print', expected 'outline', which is not done, or a step before it/,
    )
    // @ts-expect-error there is no such step
    await assert.rejects(course.resume('c', { from: 'bind' }), { code: 'invalid_argument' })
    await assert.rejects(course.resume('c', { from: 'outline', payload: { topic: 5 } }), {
      code: 'invalid_message',
    })
    assert.equal((await course.read('c'))?.status, 'failed')
  })

  test('needs a payload if the step before was acknowledged without a result', async () => {
    const scene = await openScene(academy)
    const { mill, clock } = scene
    await mill.chains.course.start('c', { topic: 'tides' })
    const [delivery] = await scene.backend.receive({ queue: mill.queues.courses.name, max: 1 })
    const settlements = [
      { receipt: delivery?.receipt ?? '', outcome: { kind: 'acknowledge' } },
    ] as const
    await scene.backend.settle({ queue: mill.queues.courses.name, settlements })
    assert.deepEqual(await statesOf(scene, 'c'), ['done', 'waiting', 'waiting'])
    await clock.advance(3_700_000)
    const [overdue] = (await mill.chains.course.list({ overdue: true })).items
    assert.deepEqual([overdue?.id, overdue?.isOverdue, overdue?.status], ['c', true, 'running'])
    await assert.rejects(
      mill.chains.course.resume('c'),
      /payload: got nothing, expected a payload for 'write'/,
    )
    const { ran } = work(scene)
    await mill.chains.course.resume('c', { payload: { topic: 'tides', chapters: 1 } })
    await clock.advance(10_000)
    assert.deepEqual(ran, ['write 1', 'print 10'])
    assert.equal((await mill.chains.course.read('c'))?.status, 'completed')
  })

  test('goes on after a step that was redriven and done meanwhile', async () => {
    const scene = await openScene(academy)
    const { mill, clock } = scene
    let isBroken = true
    const { ran } = work(scene, {
      outline: () => (isBroken ? deadLetter('no idea') : { chapters: 2 }),
    })
    await mill.chains.course.start('c', { topic: 'tides' })
    await clock.advance(1_000)
    isBroken = false
    await scene.backend.startMoveTask({ source: `${mill.queues.courses.name}-dlq` })
    await clock.advance(10_000)
    assert.equal((await mill.chains.course.read('c'))?.status, 'failed')
    assert.deepEqual(await statesOf(scene, 'c'), ['done', 'waiting', 'waiting'])
    await mill.chains.course.resume('c')
    await clock.advance(10_000)
    assert.deepEqual(ran, ['outline tides', 'outline tides', 'write 2', 'print 20'])
    assert.equal((await mill.chains.course.read('c'))?.status, 'completed')
  })

  test('twice at once does the step once more, and once', async () => {
    const scene = await openScene(academy)
    const { mill, clock } = scene
    let isBroken = true
    const { ran } = work(scene, {
      write: (chapters) => (isBroken ? deadLetter('no ink') : { pages: chapters }),
    })
    await mill.chains.course.start('c', { topic: 'tides' })
    await clock.advance(1_000)
    isBroken = false
    await Promise.all([mill.chains.course.resume('c'), mill.chains.course.resume('c')])
    await clock.advance(10_000)
    assert.deepEqual(ran, ['outline tides', 'write 3', 'write 3', 'print 3'])
  })

  test('from an earlier step hears nothing of the later one that runs', async () => {
    const scene = await openScene(academy)
    const { mill, clock } = scene
    const slow = gate()
    const writes: number[] = []
    const { ran } = work(scene, {
      write: async (chapters) => {
        writes.push(chapters)
        if (writes.length === 1) await slow.opened
        return { pages: writes.length }
      },
    })
    await mill.chains.course.start('c', { topic: 'tides' })
    await clock.advance(1_000)
    await mill.chains.course.resume('c', { from: 'outline' })
    slow.open()
    await clock.advance(10_000)
    assert.deepEqual(
      ran.filter((step) => step.startsWith('print')),
      ['print 2'],
    )
    assert.equal((await mill.chains.course.read('c'))?.status, 'completed')
  })
})

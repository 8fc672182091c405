import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { deadLetter } from '../../src/index.ts'
import { gate, openScene, started } from '../support/worker-scene.ts'
import { academy, type Course, statesOf } from './academy.ts'

interface Steps {
  readonly outline?: (run: number) => unknown
  readonly chapter?: () => unknown
  readonly print?: (run: number) => unknown
}

/** A worker whose step `write` lets a flow of two chapters stand for it; `ran` is what ran, in order. */
function press({ mill }: Course, { outline, chapter, print }: Steps): { readonly ran: string[] } {
  const ran: string[] = []
  const runs = (step: string): number => ran.filter((one) => one === step).length
  started(
    mill.worker({
      poll: ['courses', 'chapters', 'bound', 'print'],
      concurrency: 8,
      handle: {
        OUTLINE: async () => {
          ran.push('outline')
          await outline?.(runs('outline'))
          return { chapters: 2 }
        },
        WRITE: ({ topic }, context) => {
          ran.push('write')
          const units = [0, 1].map((index) => ({ id: `${index}`, message: { chapter: index } }))
          const finalize = { message: { topic } }
          context.open('chapters', topic, { units, finalize, takeOver: true })
        },
        chapters: () => chapter?.(),
        bound: (_, { unit }) => {
          ran.push(unit === null ? 'bound for nobody' : 'bound')
          return { pages: 7 }
        },
        print: () => {
          ran.push('print')
          return print?.(runs('print'))
        },
      },
    }),
  )
  return { ran }
}

/** The chapters are being written, when the chain is resumed from its first step, which takes long. */
async function takenBack() {
  const scene = await openScene(academy)
  const { mill, clock } = scene
  const [chapters, outline] = [gate(), gate()]
  const { ran } = press(scene, {
    chapter: () => chapters.opened,
    outline: (run) => (run === 2 ? outline.opened : undefined),
  })
  await mill.chains.course.start('c', { topic: 'tides' })
  await clock.advance(1_000)
  await mill.chains.course.resume('c', { from: 'outline' })
  await clock.advance(1_000)
  return { scene, ran, chapters, outline }
}

describe('resuming a chain with a step for which a flow stands', () => {
  test('from an earlier step: the end of the flow does not start the next one', async () => {
    const { scene, ran, chapters, outline } = await takenBack()
    const { mill, clock } = scene
    chapters.open()
    await clock.advance(1_000)
    assert.equal((await mill.flows.chapters.read('tides'))?.status, 'finalized')
    assert.deepEqual(await statesOf(scene, 'c'), ['running', 'waiting', 'waiting'])
    outline.open()
    await clock.advance(1_000)
    const again = ['outline', 'bound for nobody', 'write', 'bound', 'print']
    assert.deepEqual(ran, ['outline', 'write', ...again])
    assert.equal((await mill.chains.course.read('c'))?.status, 'completed')
  })

  test('from an earlier step: a flow that is cancelled meanwhile does not stop it', async () => {
    const { scene, chapters, outline } = await takenBack()
    const { mill, clock } = scene
    await mill.flows.chapters.cancel('tides')
    await clock.advance(1_000)
    assert.deepEqual(await statesOf(scene, 'c'), ['running', 'waiting', 'waiting'])
    assert.equal((await mill.chains.course.read('c'))?.status, 'running')
    outline.open()
    chapters.open()
    await clock.advance(1_000)
    const { failure } = (await mill.chains.course.read('c')) ?? {}
    assert.equal(failure?.step, 'write')
    assert.match(String(failure?.reason), /The child flow of the unit was cancelled/)
  })

  test('from that step: what comes after the flow is done once more', async () => {
    const scene = await openScene(academy)
    const { mill, clock } = scene
    const { ran } = press(scene, { print: (run) => (run === 1 ? deadLetter('no ink') : undefined) })
    await mill.chains.course.start('c', { topic: 'tides' })
    await clock.advance(1_000)
    assert.equal((await mill.chains.course.read('c'))?.failure?.step, 'print')
    await mill.chains.course.resume('c', { from: 'write' })
    await clock.advance(1_000)
    assert.deepEqual(ran.slice(1), ['write', 'bound', 'print', 'write', 'bound', 'print'])
    assert.equal((await mill.chains.course.read('c'))?.status, 'completed')
  })

  test('from that step while the flow is open: it is waited for once more', async () => {
    const scene = await openScene(academy)
    const { mill, clock } = scene
    const chapters = gate()
    const { ran } = press(scene, { chapter: () => chapters.opened })
    await mill.chains.course.start('c', { topic: 'tides' })
    await clock.advance(1_000)
    await mill.chains.course.resume('c', { from: 'write' })
    await clock.advance(1_000)
    assert.deepEqual(await statesOf(scene, 'c'), ['done', 'running', 'waiting'])
    chapters.open()
    await clock.advance(1_000)
    assert.deepEqual(ran.slice(1), ['write', 'write', 'bound', 'print'])
    assert.equal((await mill.chains.course.read('c'))?.status, 'completed')
  })
})

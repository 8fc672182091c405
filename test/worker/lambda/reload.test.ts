import assert from 'node:assert/strict'
import { rename } from 'node:fs/promises'
import { describe, test } from 'vitest'
import { MillraceError } from '../../../src/core/millrace-error.ts'
import { bodies, type LambdaScene, openLambdaScene } from './lambda-scene.ts'

const version = (text: string): string =>
  `export const handler = async () => console.log('${text}')`

/** Sends a message, and answers what the function writes about it. */
async function written(scene: LambdaScene): Promise<string | undefined> {
  const { length } = scene.reports
  await scene.send('go')
  await scene.ended(length)
  return scene.texts('output').at(-1)
}

/** Files change in real time, of which the clock knows nothing. */
async function reloaded(scene: LambdaScene): Promise<void> {
  const isTold = (): boolean => scene.log.some(({ message }) => message === 'function code changed')
  await scene.until('the change is noticed', async () => {
    await scene.ports.clock.advance(100)
    return isTold()
  })
  scene.log.length = 0
}

describe('changed code', () => {
  test('of the handler is used from the next invocation on', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    const { folder } = await scene.code('index.mjs', version('old'))
    await scene.run(scene.set({ folder, handler: 'index.handler' }))
    assert.equal(await written(scene), 'old')
    await scene.code('index.mjs', version('new'))
    await reloaded(scene)
    assert.equal(await written(scene), 'new')
  })

  test('of what the handler imports counts too, also when an editor replaces the file', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.code('text.mjs', "export const text = 'old'")
    const { folder } = await scene.code(
      'index.mjs',
      `import { text } from './text.mjs'
       export const handler = async () => console.log(text)`,
    )
    await scene.run(scene.set({ folder, handler: 'index.handler' }))
    assert.equal(await written(scene), 'old')
    for (const text of ['new', 'newest']) {
      await scene.code('text.mjs~', `export const text = '${text}'`)
      await rename(`${folder}/text.mjs~`, `${folder}/text.mjs`)
      await reloaded(scene)
      assert.equal(await written(scene), text)
    }
  })

  test('does not touch what is running', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    const waiting = (
      text: string,
    ): string => `import { BroadcastChannel } from 'node:worker_threads'
      export const handler = () => new Promise((resolve) => {
        const channel = new BroadcastChannel(process.env.PUPPET_CHANNEL)
        channel.onmessage = () => { console.log('${text}'); channel.close(); resolve() }
        console.log('waiting')
      })`
    const { folder } = await scene.code('index.mjs', waiting('old'))
    await scene.run(scene.set({ folder, handler: 'index.handler' }))
    await scene.send('go')
    await scene.until('the handler waits', () => scene.texts('output').includes('waiting'))
    await scene.code('index.mjs', version('new'))
    await reloaded(scene)
    scene.order({ requestId: 'any' })
    await scene.ended()
    assert.deepEqual(scene.texts('output'), ['waiting', 'old'])
    assert.equal(await written(scene), 'new')
  })

  test('of a file that no function has loaded changes nothing', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    const { folder } = await scene.code('index.mjs', version('old'))
    await scene.run(scene.set({ folder, handler: 'index.handler' }))
    await written(scene)
    await scene.code('notes.txt', 'a note')
    // The second file proves that the first one was looked at.
    await scene.code('index.mjs', version('new'))
    await reloaded(scene)
    await scene.ports.clock.advance(1_000)
    assert.deepEqual(scene.log, [])
  })
})

describe('a set that replaces another', () => {
  test('lets an event source go on that is in both, with its environments', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.queue({}, 'more')
    await scene.send('one')
    const set = scene.set({})
    await scene.run(set)
    scene.order(await scene.began())
    await scene.ended()
    const more = scene.source({ queue: 'more' })
    await scene.runtime.reload({ ...set, eventSources: [...set.eventSources, more] })
    await scene.store.send('more', 'two')
    const told = await scene.began(1)
    assert.deepEqual([bodies(told), told.count], [['two'], 2])
    assert.deepEqual(
      scene.runtime.sources.map(({ queue, invocations }) => [queue, invocations]),
      [
        ['work', 1],
        ['more', 0],
      ],
    )
  })

  test('gives a changed function its new environment; what runs ends as it began', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('one')
    await scene.run(scene.set({ environment: { MODE: 'old' } }))
    const first = await scene.began()
    await scene.runtime.reload(scene.set({ environment: { MODE: 'new' } }))
    await scene.send('two')
    const second = await scene.began(1)
    assert.deepEqual(
      [first, second].map(({ environment, count }) => [environment['MODE'], count]),
      [
        ['old', 1],
        ['new', 1],
      ],
    )
    scene.order(first)
    assert.equal((await scene.ended()).status, 'succeeded')
    await scene.send('three')
    assert.deepEqual((await scene.began(2)).environment['MODE'], 'new')
  })

  test('does not poll what it does not have, or has disabled', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.run(scene.set({}))
    await scene.runtime.reload(scene.set({}, { enabled: false }))
    await scene.send('one')
    await scene.ports.clock.advance(60_000)
    assert.deepEqual(await scene.store.counts('work'), { ready: 1, leased: 0, delayed: 0 })
    assert.deepEqual(scene.runtime.sources, [])
    await scene.runtime.reload(scene.set({}, { batchSize: 1 }))
    assert.deepEqual(bodies(await scene.began()), ['one'])
  })

  test('is refused when it is wrong, and the one before goes on', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.run(scene.set({}))
    await assert.rejects(scene.runtime.reload(scene.set({}, { batchSize: 0 })), /batch size/)
    await assert.rejects(
      scene.runtime.reload(scene.set({}, { queue: 'nowhere' })),
      (error) => error instanceof MillraceError && error.code === 'queue_not_found',
    )
    await scene.send('one')
    assert.deepEqual(bodies(await scene.began()), ['one'])
  })
})

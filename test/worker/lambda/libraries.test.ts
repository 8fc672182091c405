/** Handlers wrapped by the libraries that most users of partial failures have. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { LambdaEventSource, LambdaFunction } from '../../../src/worker/lambda/lambda-set.ts'
import { type LambdaScene, openLambdaScene } from './lambda-scene.ts'

async function run(
  scene: LambdaScene,
  changes: Partial<LambdaFunction>,
  source: Partial<LambdaEventSource> = {},
): Promise<void> {
  await scene.run(scene.set(changes, { reportsBatchItemFailures: true, ...source }))
  const { status, problem } = await scene.ended()
  assert.deepEqual([status, problem], ['succeeded', null], scene.texts('error').join())
}

describe.each([
  ['Powertools', 'powertools.handler'],
  ['middy', 'middleware.handler'],
])('a handler wrapped by %s', (_, handler) => {
  test('has its good messages acknowledged and its bad ones left', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('good 1', 'bad 2', 'good 3', 'bad 4')
    await run(scene, { handler })
    assert.deepEqual(await scene.store.peekBodies('work', 'leased'), ['bad 2', 'bad 4'])
    assert.equal(scene.reports[0]?.acknowledged, 2)
  })

  test('has all of them acknowledged when all are good', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('good 1', 'good 2')
    await run(scene, { handler })
    assert.equal(scene.reports[0]?.acknowledged, 2)
  })
})

describe('a handler wrapped by the FIFO processor of Powertools', () => {
  test('has what stands behind its first failure left, in its order', async () => {
    const scene = await openLambdaScene()
    await scene.store.fifoQueue('work.fifo', { visibilityMs: 30_000 })
    await scene.store.sendToGroup('work.fifo', 'a', 'good 1', 'bad 2', 'good 3')
    await run(scene, { handler: 'powertools.fifo' }, { queue: 'work.fifo' })
    assert.equal(scene.reports[0]?.acknowledged, 1)
    assert.deepEqual(await scene.store.peekBodies('work.fifo', 'leased'), ['bad 2', 'good 3'])
  })

  test('that has only failures fails as a whole, because it throws', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('bad 1')
    const set = scene.set({ handler: 'powertools.handler' }, { reportsBatchItemFailures: true })
    await scene.run(set)
    const report = await scene.ended()
    assert.equal(report.error?.errorType, 'FullBatchFailureError')
    assert.deepEqual([report.status, report.left], ['failed', 1])
  })
})

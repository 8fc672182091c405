import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { describe, test } from 'vitest'
import type { InvocationReport } from '../../../src/worker/lambda/invocation-report.ts'
import type { LambdaFunction } from '../../../src/worker/lambda/lambda-set.ts'
import { handlers, type LambdaScene, openLambdaScene } from './lambda-scene.ts'

/** Runs one message through a handler, for a runtime that takes all forms of them. */
function invoked(scene: LambdaScene, changes: Partial<LambdaFunction>): Promise<InvocationReport> {
  return scene.once({ folder: handlers, runtime: 'nodejs22.x', ...changes })
}

describe('a handler of an older runtime', () => {
  test.each([
    ['answers by its callback', 'callback'],
    ['answers by context.succeed', 'succeeds'],
    ['answers by context.done', 'isDone'],
    ['does not answer at all, and has nothing left to do', 'forgetsToAnswer'],
    ['is nested in what its module exports', 'nested.deep.handler'],
    ['is a method of an object', 'instance.handler'],
  ])('succeeds when it %s', async (_, name) => {
    const scene = await openLambdaScene()
    const report = await invoked(scene, { handler: `forms.${name}` })
    assert.deepEqual([report.status, report.acknowledged], ['succeeded', 1])
  })

  test.each([
    ['gives its callback an error', 'callbackError', 'by callback'],
    ['calls context.fail', 'fails', 'by context'],
    ['throws at once', 'throwsAtOnce', 'at once'],
  ])('fails when it %s', async (_, name, message) => {
    const scene = await openLambdaScene()
    const { status, error } = await invoked(scene, { handler: `forms.${name}` })
    assert.deepEqual(
      [status, error?.errorType, error?.errorMessage],
      ['failed', 'RangeError', message],
    )
  })

  test('answers by callback once the event loop is empty', async () => {
    const scene = await openLambdaScene()
    await invoked(scene, { handler: 'forms.waits' })
    assert.deepEqual(scene.texts('output'), ['waits: true', 'the loop was not empty'])
  })

  test('need not wait for the event loop', async () => {
    const scene = await openLambdaScene()
    const { status } = await invoked(scene, { handler: 'forms.doesNotWait' })
    assert.equal(status, 'succeeded')
    assert.deepEqual(scene.texts('output'), [])
  })

  test('runs where no runtime is given', async () => {
    const scene = await openLambdaScene()
    const { status } = await invoked(scene, { handler: 'forms.callback', runtime: null })
    assert.equal(status, 'succeeded')
  })
})

describe('a handler of nodejs24.x', () => {
  test('may not take a callback, since AWS refuses it', async () => {
    const scene = await openLambdaScene()
    const { error } = await invoked(scene, { handler: 'forms.callback', runtime: 'nodejs24.x' })
    assert.equal(error?.errorType, 'Runtime.CallbackHandlerDeprecated')
  })
})

describe('the file of a handler', () => {
  test.each([
    ['index.mjs', 'export const handler = async () => undefined'],
    ['index.cjs', 'exports.handler = async () => undefined'],
    ['index.js', 'exports.handler = async () => undefined'],
    ['index.mts', 'export const handler = async (): Promise<void> => undefined'],
    ['index.ts', 'export const handler = async (event: unknown): Promise<void> => void event'],
    ['index.cts', 'exports.handler = async (): Promise<void> => undefined'],
  ])('may be %s', async (file, text) => {
    const scene = await openLambdaScene()
    const { folder } = await scene.code(file, text)
    const { status } = await invoked(scene, { folder, handler: 'index.handler' })
    assert.equal(status, 'succeeded', scene.texts('error').join())
    assert.deepEqual(scene.texts('output'), [], 'Node has something to say about it')
  })

  test('may export what only shows when it runs', async () => {
    const scene = await openLambdaScene()
    const text = "module.exports = Object.fromEntries([['handler', async () => undefined]])"
    const { folder } = await scene.code('index.cjs', text)
    const { status } = await invoked(scene, { folder, handler: 'index.handler' })
    assert.equal(status, 'succeeded')
  })

  test('may be in a folder below that of the function', async () => {
    const scene = await openLambdaScene()
    await mkdir(`${scene.folder}/src/handlers`, { recursive: true })
    const { folder } = await scene.code(
      'src/handlers/grade.mjs',
      'export const run = async () => undefined',
    )
    const { status } = await invoked(scene, { folder, handler: 'src/handlers/grade.run' })
    assert.equal(status, 'succeeded')
  })

  test('may import TypeScript as bundlers let it: without an ending, or with that of the build', async () => {
    const scene = await openLambdaScene()
    await mkdir(`${scene.folder}/lib/deep`, { recursive: true })
    await scene.code('lib/bare.ts', 'export const bare: string = "bare"')
    await scene.code('lib/built.ts', 'export const built: string = "built"')
    await scene.code('lib/deep/index.ts', 'export const deep: string = "deep"')
    const { folder } = await scene.code(
      'index.ts',
      `import { bare } from './lib/bare'
       import { built } from './lib/built.js'
       import { deep } from './lib/deep'
       export const handler = async (): Promise<void> => console.log(bare, built, deep)`,
    )
    const { status } = await invoked(scene, { folder, handler: 'index.handler' })
    assert.equal(status, 'succeeded', scene.texts('error').join())
    assert.deepEqual(scene.texts('output'), ['bare built deep'])
  })
})

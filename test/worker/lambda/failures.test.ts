import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { InvocationReport } from '../../../src/worker/lambda/invocation-report.ts'
import type { LambdaFunction } from '../../../src/worker/lambda/lambda-set.ts'
import { bodies, handlers, type LambdaScene, openLambdaScene } from './lambda-scene.ts'

const second = 1_000

/** Runs one message through a function that goes wrong. */
async function failing(
  scene: LambdaScene,
  changes: Partial<LambdaFunction>,
): Promise<InvocationReport> {
  const report = await scene.once(changes)
  assert.equal(report.status, 'failed')
  assert.deepEqual([report.acknowledged, report.left], [0, 1])
  assert.equal((await scene.store.counts('work')).leased, 1)
  return report
}

/** The runtime is alive: the same queue can feed a function that works. */
async function stillWorks(scene: LambdaScene): Promise<void> {
  await scene.send('next')
  await scene.runtime.reload(scene.set({ name: 'puppet' }))
  const told = await scene.began()
  assert.deepEqual(bodies(told), ['next'])
}

describe('a failed invocation', () => {
  test('leaves its messages invisible until their timeout ends, as on AWS', async () => {
    const scene = await openLambdaScene()
    await scene.queue({ visibilityMs: 30 * second })
    await scene.send('one', 'two')
    await scene.run(scene.set({}))
    scene.order(await scene.began(), { error: 'no' })
    const { error, left } = await scene.ended()
    assert.deepEqual([error?.errorType, error?.errorMessage, left], ['TypeError', 'no', 2])
    await scene.ports.clock.advance(29 * second)
    assert.deepEqual(await scene.store.counts('work'), { ready: 0, leased: 2, delayed: 0 })
    await scene.ports.clock.advance(1 * second)
    const again = await scene.began(1)
    assert.deepEqual(bodies(again), ['one', 'two'])
    assert.equal(again.event.Records[0]?.attributes.ApproximateReceiveCount, '2')
    assert.equal(again.count, 2, 'an error does not cost the environment')
  })

  test('ends in the dead-letter queue after as many receives as that has', async () => {
    const scene = await openLambdaScene()
    const dead = await scene.store.queueWithDeadLetters('work', 2, { visibilityMs: 10 * second })
    await scene.send('poison')
    await scene.run(scene.set({}))
    for (const index of [0, 1]) {
      scene.order(await scene.began(index), { error: 'no' })
      await scene.ended(index)
      await scene.ports.clock.advance(10 * second)
    }
    assert.deepEqual(await scene.store.peekBodies(dead, 'ready'), ['poison'])
  })

  test('does not hold up messages that come after it', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('one')
    await scene.run(scene.set({}))
    scene.order(await scene.began(), { error: 'no' })
    await scene.send('two')
    assert.deepEqual(bodies(await scene.began(1)), ['two'])
  })
})

describe('a function that takes too long', () => {
  test('is ended at its timeout, and its messages come again', async () => {
    const scene = await openLambdaScene()
    await scene.queue({ visibilityMs: 30 * second })
    await scene.send('one')
    await scene.run(scene.set({ timeoutMs: 3 * second }))
    await scene.began()
    await scene.ports.clock.advance(2_999)
    assert.equal(scene.reports.length, 0)
    await scene.ports.clock.advance(1)
    const report = await scene.ended()
    assert.deepEqual([report.status, report.durationMs, report.left], ['timed_out', 3_000, 1])
    assert.deepEqual(scene.texts('error'), ['Task timed out after 3.00 seconds'])
    await scene.ports.clock.advance(27 * second)
    assert.equal((await scene.began(1)).count, 1, 'its environment was used again')
  })

  test('is ended even when it blocks its thread', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('one')
    await scene.run(scene.set({ folder: handlers, handler: 'faults.spins', timeoutMs: second }))
    await scene.until('the handler runs', () => scene.texts('output').includes('spinning'))
    await scene.ports.clock.advance(second)
    await scene.ended()
    assert.equal(scene.reports[0]?.status, 'timed_out')
    await stillWorks(scene)
  })

  test('keeps no lease: messages reappear while it still runs', async () => {
    const scene = await openLambdaScene()
    await scene.queue({ visibilityMs: 5 * second })
    await scene.send('one')
    await scene.run(scene.set({ timeoutMs: 60 * second }))
    const first = await scene.began()
    await scene.ports.clock.advance(5 * second)
    const repeated = await scene.began(1)
    assert.deepEqual(bodies(repeated), ['one'])
    assert.equal(repeated.event.Records[0]?.attributes.ApproximateReceiveCount, '2')
    assert.match(scene.log.map(({ message }) => message).join(), /visibility timeout is too short/)
    scene.order(first)
    const late = await scene.ended()
    assert.deepEqual([late.acknowledged, late.lost], [0, 1])
  })
})

describe('a function that breaks', () => {
  test.each([
    ['calls process.exit', 'exits', 'Runtime.ExitError', /exit status 3/],
    ['leaves without an error', 'leaves', 'Runtime.ExitError', /without providing a reason/],
    ['throws where nobody catches', 'throwsLater', 'RangeError', /nobody catches/],
    [
      'rejects where nobody looks',
      'rejectsLater',
      'Runtime.UnhandledPromiseRejection',
      /Error: rejected where/,
    ],
    ['uses more memory than it has', 'eats', 'Runtime.OutOfMemory', /more memory/],
    ['answers what JSON cannot say', 'circular', 'Runtime.JSONStringifyError', /circular/],
    ['throws a text', 'throwsText', 'string', /only a text/],
    ['never answers and does nothing', 'neverAnswers', 'Runtime.ExitError', /without a response/],
    ['is no function', 'notAFunction', 'Runtime.HandlerNotFound', /is not a function/],
    ['is not exported', 'missing', 'Runtime.HandlerNotFound', /undefined or not exported/],
  ])('because it %s fails its invocation and nothing else', async (_, name, type, message) => {
    const scene = await openLambdaScene()
    const { error } = await failing(scene, { folder: handlers, handler: `faults.${name}` })
    assert.equal(error?.errorType, type)
    assert.match(error?.errorMessage ?? '', message)
    assert.match(scene.texts('error').join(), message)
    await stillWorks(scene)
  })
})

describe('an environment that dies while it is idle', () => {
  test('is told of, and the next invocation has another one', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    const { folder } = await scene.code(
      'index.mjs',
      "export const handler = async () => { setImmediate(() => { throw new Error('late') }) }",
    )
    await scene.run(scene.set({ folder, handler: 'index.handler' }))
    for (const index of [0, 1]) {
      await scene.send('one')
      const { status, initMs } = await scene.ended(index)
      assert.deepEqual([status, initMs !== null], ['succeeded', true])
      await scene.until('it dies', () => scene.texts('error').length === index + 1)
    }
    assert.match(scene.texts('error')[0] ?? '', /^Uncaught Exception\t.*late/)
  })
})

describe('a function that cannot be loaded', () => {
  test.each([
    ['a file that is not there', 'none.mjs', '', 'Runtime.ImportModuleError', /Cannot find module/],
    [
      'an import that is not there',
      'index.mjs',
      "import './nowhere.mjs'",
      'Runtime.ImportModuleError',
      /nowhere/,
    ],
    ['wrong syntax', 'index.mjs', 'const = 3', 'Runtime.UserCodeSyntaxError', /index\.mjs/],
    [
      'an error of its own',
      'index.mjs',
      "throw new RangeError('no configuration')",
      'RangeError',
      /no configuration/,
    ],
    [
      'TypeScript that has to be built',
      'index.ts',
      'enum Metal { Gold }\nexport const handler = () => Metal.Gold',
      'Runtime.UserCodeSyntaxError',
      /enum.*need a build first.*--import tsx/s,
    ],
  ])('because of %s fails with the reason', async (_, file, text, type, message) => {
    const scene = await openLambdaScene()
    const { folder } = await scene.code(file, text)
    const { error } = await failing(scene, { folder, handler: 'index.handler' })
    assert.equal(error?.errorType, type)
    assert.match(error?.errorMessage ?? '', message)
    await stillWorks(scene)
  })

  test('because of options that Node does not have fails with the reason', async () => {
    const scene = await openLambdaScene()
    const environment = { NODE_OPTIONS: '--no-such-option' }
    const { error } = await failing(scene, { environment })
    assert.equal(error?.errorType, 'Runtime.StartError')
    assert.match(error?.errorMessage ?? '', /--no-such-option/)
  })

  test('because its start does not end is given up after ten seconds and its timeout', async () => {
    const scene = await openLambdaScene()
    const code = 'await new Promise(() => setInterval(() => undefined, 1000))'
    const { folder } = await scene.code('index.mjs', code)
    await scene.queue()
    await scene.send('one')
    await scene.run(scene.set({ folder, handler: 'index.handler', timeoutMs: 3 * second }))
    await scene.until('it begins', () => scene.begun() === 1)
    await scene.ports.clock.advance(12_999)
    assert.equal(scene.reports.length, 0)
    await scene.ports.clock.advance(1)
    assert.equal((await scene.ended()).error?.errorType, 'Sandbox.Timedout')
  })
})

describe('a partial failure', () => {
  test('acknowledges what was done, and leaves the rest invisible until its timeout', async () => {
    const scene = await openLambdaScene()
    await scene.queue({ visibilityMs: 30 * second })
    const [, two] = await scene.send('one', 'two', 'three')
    await scene.run(scene.set({}, { reportsBatchItemFailures: true }))
    const answer = { batchItemFailures: [{ itemIdentifier: two }] }
    scene.order(await scene.began(), { answer })
    const report = await scene.ended()
    assert.deepEqual([report.status, report.acknowledged, report.left], ['succeeded', 2, 1])
    assert.deepEqual(await scene.store.peekBodies('work', 'leased'), ['two'])
    await scene.ports.clock.advance(30 * second)
    assert.deepEqual(bodies(await scene.began(1)), ['two'])
  })

  test('with an answer that cannot be understood leaves the whole batch', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    await scene.send('one', 'two')
    await scene.run(scene.set({}, { reportsBatchItemFailures: true }))
    scene.order(await scene.began(), { answer: { batchItemFailures: [{ itemIdentifier: '' }] } })
    const report = await scene.ended()
    assert.deepEqual([report.acknowledged, report.left], [0, 2])
    assert.match(report.problem ?? '', /batchItemFailures\[0\]/)
  })

  test('is not looked at unless the event source says so', async () => {
    const scene = await openLambdaScene()
    await scene.queue()
    const [one] = await scene.send('one', 'two')
    await scene.run(scene.set({}, { reportsBatchItemFailures: false }))
    scene.order(await scene.began(), { answer: { batchItemFailures: [{ itemIdentifier: one }] } })
    assert.equal((await scene.ended()).acknowledged, 2)
  })

  test('in a FIFO queue holds back what stands behind it in its group', async () => {
    const scene = await openLambdaScene()
    await scene.store.fifoQueue('work.fifo', { visibilityMs: 30 * second })
    const [, a2] = await scene.store.sendToGroup('work.fifo', 'a', 'a1', 'a2', 'a3')
    await scene.store.sendToGroup('work.fifo', 'b', 'b1')
    await scene.run(scene.set({}, { queue: 'work.fifo', reportsBatchItemFailures: true }))
    scene.order(await scene.began(), { answer: { batchItemFailures: [{ itemIdentifier: a2 }] } })
    assert.deepEqual([(await scene.ended()).acknowledged, scene.reports[0]?.left], [2, 2])
    await scene.ports.clock.advance(30 * second)
    assert.deepEqual(bodies(await scene.began(1)), ['a2', 'a3'])
  })
})

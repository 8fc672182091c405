import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { plainSource } from '../../../test/worker/lambda/lambda-scene.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { checkLambdaSet } from './check-lambda-set.ts'
import {
  isNodeRuntime,
  isSameEventSource,
  isSameFunction,
  type LambdaEventSource,
  type LambdaFunction,
} from './lambda-set.ts'

const grade: LambdaFunction = {
  name: 'grade',
  handler: 'src/grade.handler',
  folder: '/code',
  runtime: 'nodejs24.x',
  timeoutMs: 3_000,
  memoryMb: 128,
  environment: {},
  reservedConcurrency: null,
}
const source: LambdaEventSource = { ...plainSource, queue: 'orders', function: 'grade' }

function problems(
  changes: Partial<LambdaFunction>,
  ...sources: readonly Partial<LambdaEventSource>[]
): readonly string[] {
  const eventSources = (sources.length > 0 ? sources : [{}]).map((one) => ({ ...source, ...one }))
  try {
    checkLambdaSet({ functions: [{ ...grade, ...changes }], eventSources })
    return []
  } catch (error) {
    assert.ok(error instanceof MillraceError)
    assert.equal(error.code, 'invalid_argument')
    return error.violations.map(({ field, allowed }) => `${field}: ${allowed}`)
  }
}

describe('an event source', () => {
  test.each([
    ['as it is by default', {}],
    ['a batch of ten thousand with a window', { batchSize: 10_000, batchingWindowMs: 1_000 }],
    ['the longest window', { batchingWindowMs: 300_000 }],
    ['a FIFO queue', { queue: 'orders.fifo', batchSize: 10 }],
    ['the least concurrency', { maximumConcurrency: 2 }],
    ['the most concurrency', { maximumConcurrency: 1_000 }],
  ])('may have %s', (_, changes) => {
    assert.deepEqual(problems({}, changes), [])
  })

  test.each([
    ['no messages', { batchSize: 0 }, /batch size: .*1 to 10000/],
    ['more than ten thousand', { batchSize: 10_001, batchingWindowMs: 1_000 }, /1 to 10000/],
    [
      'more than ten messages without a window',
      { batchSize: 11, batchingWindowMs: 999 },
      /batching window: at least 1000 ms/,
    ],
    ['a window over five minutes', { batchingWindowMs: 300_001 }, /0 to 300000/],
    ['more than ten from a FIFO queue', { queue: 'a.fifo', batchSize: 11 }, /1 to 10 messages/],
    [
      'a window on a FIFO queue',
      { queue: 'a.fifo', batchingWindowMs: 1_000 },
      /no batching window/,
    ],
    ['a concurrency of one', { maximumConcurrency: 1 }, /2 to 1000/],
    ['a concurrency over a thousand', { maximumConcurrency: 1_001 }, /2 to 1000/],
    ['eleven filters', { filters: Array(11).fill({ body: ['a'] }) }, /at most 10/],
    ['a filter that means nothing', { filters: [{ body: 'a' }] }, /filters\[0\]\.body/],
    ['a function that is not there', { function: 'mark' }, /the name of a function/],
  ])('may not have %s', (_, changes, expected) => {
    const found = problems({}, changes)
    assert.equal(found.length, 1, found.join('\n'))
    assert.match(found[0] ?? '', expected)
  })

  test('is the only one of its queue and function', () => {
    assert.match(problems({}, {}, { batchSize: 1 })[0] ?? '', /one event source for each/)
    assert.deepEqual(problems({}, {}, { queue: 'others' }), [])
  })
})

describe('a function', () => {
  test.each([
    ['a timeout over a quarter of an hour', { timeoutMs: 900_001 }, /timeout/],
    ['less memory than AWS gives', { memoryMb: 64 }, /memory: .*128 to 10240/],
    ['a negative reserve', { reservedConcurrency: -1 }, /reserved concurrency/],
    ['a handler without an export', { handler: 'src/grade' }, /handler/],
    ['a handler outside of its folder', { handler: '../grade.handler' }, /handler/],
    ['a folder that depends on where one stands', { folder: 'code' }, /absolute/],
    ['a name that is too long', { name: 'x'.repeat(65) }, /name: .*1 to 64/],
  ])('may not have %s', (_, changes, expected) => {
    const named: Partial<LambdaFunction> = changes
    const found = problems(named, { function: named.name ?? 'grade' })
    assert.equal(found.length, 1, found.join('\n'))
    assert.match(found[0] ?? '', expected)
  })

  test('of another runtime is refused by name', () => {
    assert.throws(
      () =>
        checkLambdaSet({
          functions: [{ ...grade, runtime: 'python3.13' }],
          eventSources: [source],
        }),
      (error) =>
        error instanceof MillraceError &&
        error.code === 'unsupported' &&
        /grade has the runtime python3\.13/.test(error.message),
    )
    assert.deepEqual(
      ['nodejs24.x', 'nodejs18.x', null, 'python3.13', 'provided.al2023', 'java21'].map(
        isNodeRuntime,
      ),
      [true, true, true, false, false, false],
    )
  })

  test('that no queue feeds is not looked at', () => {
    checkLambdaSet({ functions: [{ ...grade, runtime: 'python3.13' }], eventSources: [] })
  })

  test('is told all that is wrong at once', () => {
    const found = problems({ timeoutMs: 0, memoryMb: 0 }, { batchSize: 0, maximumConcurrency: 0 })
    assert.equal(found.length, 4)
  })
})

describe('two declarations', () => {
  test('are the same whatever the order of their keys, and wherever they were declared', () => {
    const at = { line: 3 }
    const one = { ...grade, environment: { A: '1', B: '2' }, at }
    const other = { ...grade, environment: { B: '2', A: '1' }, at: { line: 9 } }
    assert.ok(isSameFunction(one, other))
    assert.ok(isSameEventSource({ ...source, ...{ at } }, source))
  })

  test('differ in every field that matters', () => {
    const functions: readonly Partial<LambdaFunction>[] = [
      { handler: 'b.handler' },
      { folder: '/other' },
      { runtime: null },
      { timeoutMs: 4_000 },
      { memoryMb: 256 },
      { environment: { A: '1' } },
      { reservedConcurrency: 1 },
    ]
    for (const changes of functions) assert.ok(!isSameFunction(grade, { ...grade, ...changes }))
    const sources: readonly Partial<LambdaEventSource>[] = [
      { batchSize: 1 },
      { batchingWindowMs: 1 },
      { maximumConcurrency: 2 },
      { reportsBatchItemFailures: true },
      { filters: [{ body: ['a'] }] },
      { enabled: false },
    ]
    for (const changes of sources) {
      assert.ok(!isSameEventSource(source, { ...source, ...changes }))
    }
  })
})

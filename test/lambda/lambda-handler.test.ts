/** `lambdaHandler` without a store: what a function on AWS does with a batch. */
import assert from 'node:assert/strict'
import middy from '@middy/core'
import type { SQSHandler } from 'aws-lambda'
import { describe, expectTypeOf, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import {
  AbortReason,
  defineApp,
  type FailedRecord,
  fifo,
  jobs,
  lambdaHandler,
  queue,
  release,
} from '../../src/index.ts'
import { virtualPorts } from '../../src/testing/virtual-clock.ts'
import { invoke, lambdaContext, record } from './function-scene.ts'

const Answer = z.object({ exam: z.string(), points: z.coerce.number(), key: z.string().optional() })

const school = defineApp('school', {
  queues: {
    answers: queue({
      schema: Answer,
      secret: ['key'],
      deadLetter: { after: 3 },
      obeys: 'GRADING_PAUSED',
    }),
    events: fifo({ schema: z.object({ n: z.number() }) }),
    work: jobs({
      types: {
        OCR: z.object({ page: z.number() }),
        MAIL: { schema: z.object({ to: z.string() }), obeys: 'MAIL_PAUSED' },
      },
    }),
  },
})

const good = { exam: 'e', points: 1 }

/** Records what is reported, in place of the console. */
function reports(): { failures: FailedRecord[]; onFailure: (failure: FailedRecord) => void } {
  const failures: FailedRecord[] = []
  return { failures, onFailure: (failure) => void failures.push(failure) }
}

describe('a handler of messages', () => {
  test('gets the output of the schema and the facts of its record', async () => {
    const seen: unknown[] = []
    const handler = lambdaHandler(school, 'answers', async (answer, context) => {
      expectTypeOf(answer.points).toEqualTypeOf<number>()
      seen.push(answer)
      const { queue, type, id, attempt, maxAttempts, tenant, lambda } = context
      seen.push([queue, type, id, attempt, maxAttempts, tenant, lambda.awsRequestId])
      assert.equal(context.record.messageId, id)
    })
    const one = record({ exam: 'e', points: '7' }, { messageId: 'id-1', group: 'ann' })
    assert.deepEqual(await invoke(handler, [one]), [])
    assert.deepEqual(seen, [
      { exam: 'e', points: 7 },
      ['answers', null, 'id-1', 2, 3, 'ann', 'request-1'],
    ])
  })

  test('returns what failed, in the order of the batch, and reports each with its error', async () => {
    const { failures, onFailure } = reports()
    const error = new Error('cannot grade')
    const handler = lambdaHandler(
      school,
      'answers',
      ({ exam }) => {
        if (exam === 'bad') throw error
      },
      { onFailure },
    )
    const batch = [
      record({ exam: 'bad', points: 1 }, { messageId: 'a' }),
      record(good, { messageId: 'b' }),
      record('not JSON', { messageId: 'c' }),
      record({ points: 1 }, { messageId: 'd' }),
    ]
    assert.deepEqual(await invoke(handler, batch), ['a', 'c', 'd'])
    const told = failures.map(({ messageId, why }) => [messageId, why]).sort()
    assert.deepEqual(told, [
      ['a', 'threw'],
      ['c', 'unreadable'],
      ['d', 'unreadable'],
    ])
    const threw = failures.find(({ messageId }) => messageId === 'a')
    assert.equal(threw?.error, error)
    assert.match(
      failures.find(({ messageId }) => messageId === 'd')?.summary ?? '',
      /message\.exam/,
    )
  })

  test('prints failures with their stack, without secret values', async () => {
    const print = vi.spyOn(console, 'error').mockReturnValue()
    onTestFinished(() => print.mockRestore())
    const handler = lambdaHandler(school, 'answers', ({ key }) => {
      throw new Error(`no access with ${key}`)
    })
    await invoke(handler, [record({ ...good, key: 'hunter22' }, { messageId: 'a' })])
    const [text] = print.mock.calls[0] ?? []
    assert.match(
      String(text),
      /^answers: message a failed in attempt 2: no access with \[hidden\]\n +at /,
    )
    assert.doesNotMatch(String(text), /hunter22/)
  })

  test('runs as many at once as allowed, and all of them', async () => {
    let running = 0
    let most = 0
    const handler = lambdaHandler(
      school,
      'answers',
      async () => {
        running += 1
        most = Math.max(most, running)
        await new Promise(setImmediate)
        running -= 1
        throw new Error('no')
      },
      { concurrency: 3, onFailure: () => undefined },
    )
    const batch = Array.from({ length: 9 }, (_, n) => record(good, { messageId: String(n) }))
    assert.equal((await invoke(handler, batch)).length, 9)
    assert.equal(most, 3)
  })

  test('fails where it returns what only a store can do', async () => {
    const { failures, onFailure } = reports()
    const handler = lambdaHandler(school, 'answers', () => release(), { onFailure })
    assert.deepEqual(await invoke(handler, [record(good, { messageId: 'a' })]), ['a'])
    assert.match(failures[0]?.summary ?? '', /need a store/)
  })
})

describe('a handler that libraries wrap', () => {
  test('is a handler in the types of AWS, also inside middy', async () => {
    const handler: SQSHandler = lambdaHandler(school, 'answers', () => undefined)
    assert.equal(handler.length, 2)
    const before: string[] = []
    const wrapped = middy()
      .use({ before: ({ context }) => void before.push(context.functionName) })
      .handler(
        lambdaHandler(
          school,
          'answers',
          () => {
            throw new Error('no')
          },
          { onFailure: () => undefined },
        ),
      )
    const event = { Records: [record(good, { messageId: 'a' })] }
    const response = await wrapped(event, lambdaContext())
    assert.deepEqual(response, { batchItemFailures: [{ itemIdentifier: 'a' }] })
    assert.deepEqual(before, ['grade'])
  })
})

describe('a FIFO queue', () => {
  test('stops each group at its first failure, and runs a group in order', async () => {
    const seen: number[] = []
    const handler = lambdaHandler(
      school,
      'events',
      async ({ n }) => {
        await new Promise(setImmediate)
        seen.push(n)
        if (n === 2) throw new Error('no')
      },
      { onFailure: () => undefined },
    )
    const of = (group: string, n: number) => record({ n }, { group, messageId: `${group}${n}` })
    const batch = [of('a', 1), of('b', 10), of('a', 2), of('a', 3), of('b', 11), of('a', 4)]
    assert.deepEqual(await invoke(handler, batch), ['a2', 'a3', 'a4'])
    assert.deepEqual(
      seen.toSorted((one, other) => one - other),
      [1, 2, 10, 11],
    )
    assert.ok(seen.indexOf(10) < seen.indexOf(11))
  })

  test('an unreadable body stops its group too', async () => {
    const handler = lambdaHandler(school, 'events', () => undefined, { onFailure: () => undefined })
    const batch = [
      record('{}', { group: 'a', messageId: '1' }),
      record({ n: 2 }, { group: 'a', messageId: '2' }),
    ]
    assert.deepEqual(await invoke(handler, batch), ['1', '2'])
  })
})

describe('jobs', () => {
  const typed = (type: string, payload: unknown, messageId: string) =>
    record(payload, {
      messageId,
      messageAttributes: {
        'millrace.jobType': { stringValue: type, dataType: 'String' },
        'millrace.jobId': { stringValue: `job-${messageId}`, dataType: 'String' },
        'millrace.attempt': { stringValue: '1', dataType: 'Number' },
        'millrace.maxAttempts': { stringValue: '5', dataType: 'Number' },
      },
    })

  test('go to the handler of their type', async () => {
    const { failures, onFailure } = reports()
    const seen: unknown[] = []
    const handler = lambdaHandler(
      school,
      'work',
      {
        OCR: ({ page }, { id, type, attempt, maxAttempts }) => {
          expectTypeOf(page).toEqualTypeOf<number>()
          seen.push([page, id, type, attempt, maxAttempts])
        },
        MAIL: ({ to }) => void seen.push(to),
      },
      { onFailure },
    )
    const batch = [
      typed('OCR', { page: 1 }, 'a'),
      typed('MAIL', { to: 'x' }, 'b'),
      typed('MAIL', { page: 1 }, 'c'),
      typed('constructor', {}, 'd'),
      record({ page: 1 }, { messageId: 'e' }),
    ]
    assert.deepEqual(await invoke(handler, batch), ['c', 'd', 'e'])
    assert.deepEqual(seen, [[1, 'job-a', 'OCR', 1, 5], 'x'])
    const texts = failures.map(({ messageId, summary }) => `${messageId} ${summary}`).sort()
    assert.match(texts[1] ?? '', /millrace\.jobType: got 'constructor', expected a job type/)
    assert.match(texts[2] ?? '', /millrace\.jobType: got nothing/)
  })

  test('of a type whose kill switch is on fail without being run', async () => {
    vi.stubEnv('MAIL_PAUSED', 'true')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { failures, onFailure } = reports()
    const seen: string[] = []
    const handlers = { OCR: () => void seen.push('OCR'), MAIL: () => void seen.push('MAIL') }
    const handler = lambdaHandler(school, 'work', handlers, { onFailure })
    const batch = [typed('OCR', { page: 1 }, 'a'), typed('MAIL', { to: 'x' }, 'b')]
    assert.deepEqual(await invoke(handler, batch), ['b'])
    assert.deepEqual(seen, ['OCR'])
    assert.deepEqual(failures[0]?.why, 'held')
  })
})

describe('a kill switch in the environment of the function', () => {
  test('fails the whole batch, and is read for every batch', async () => {
    onTestFinished(() => void vi.unstubAllEnvs())
    let runs = 0
    const onFailure = () => undefined
    const handler = lambdaHandler(
      school,
      'answers',
      () => {
        runs += 1
      },
      { onFailure },
    )
    vi.stubEnv('GRADING_PAUSED', 'on')
    assert.deepEqual(await invoke(handler, [record(good, { messageId: 'a' })]), ['a'])
    vi.stubEnv('GRADING_PAUSED', 'false')
    assert.deepEqual(await invoke(handler, [record(good, { messageId: 'a' })]), [])
    vi.stubEnv('GRADING_PAUSED', 'perhaps')
    await assert.rejects(invoke(handler, [record(good)]), { code: 'invalid_argument' })
    assert.equal(runs, 1)
  })
})

describe('the time of the function', () => {
  test('ends: handlers are asked to stop, and what is done is reported as done', async () => {
    const ports = virtualPorts()
    const endsAt = ports.clock.monotonic() + 10_000
    const context = lambdaContext(() => endsAt - ports.clock.monotonic())
    const { failures, onFailure } = reports()
    const stopped: unknown[] = []
    const handler = lambdaHandler(
      school,
      'answers',
      async ({ exam }, { signal }) => {
        if (exam === 'quick') return
        signal.addEventListener('abort', () => stopped.push(signal.reason))
        await new Promise(() => undefined)
      },
      { onFailure, ports, concurrency: 2, stopBefore: '2s' },
    )
    const batch = ['quick', 'endless', 'endless', 'late'].map((exam, index) =>
      record({ exam, points: 1 }, { messageId: String(index) }),
    )
    const invoked = invoke(handler, batch, context)
    await ports.clock.advance(7_999)
    assert.equal(stopped.length, 0)
    await ports.clock.advance(1)
    assert.equal(stopped.length, 2)
    assert.ok(stopped[0] instanceof AbortReason)
    await ports.clock.advance(1_000)
    assert.deepEqual(await invoked, ['1', '2', '3'])
    assert.deepEqual(new Set(failures.map(({ why }) => why)), new Set(['timeout']))
    assert.equal(ports.clock.pendingTimers, 0)
  })
})

describe('bad arguments', () => {
  const untyped = lambdaHandler as unknown as (...args: readonly unknown[]) => unknown

  test.each<readonly [string, readonly unknown[], RegExp]>([
    ['an unknown queue', ['answer', () => undefined], /queue: got 'answer'.*answers/],
    ['no handler', ['answers', undefined], /handler: got undefined, expected a function/],
    ['a job type without a handler', ['work', { OCR: () => 1 }], /handlers\.MAIL: got undefined/],
    ['an unknown job type', ['work', { OCR: () => 1, MAIL: () => 1, X: () => 1 }], /handlers\.X/],
    ['an unknown option', ['answers', () => 1, { concurency: 1 }], /concurency.*concurrency/s],
    ['no slot', ['answers', () => 1, { concurrency: 0 }], /concurrency: got 0/],
    ['a bad duration', ['answers', () => 1, { stopBefore: 'soon' }], /stopBefore: got 'soon'/],
  ])('%s', (_, args, text) => {
    assert.throws(() => untyped(school, ...args), text)
  })
})

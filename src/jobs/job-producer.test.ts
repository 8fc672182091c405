import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { type JobsScene, openJobs } from '../../test/support/jobs-scene.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { EnqueueOptions, JobOptions } from './job-options.ts'

async function countOf({ mill }: JobsScene): Promise<number> {
  const { ready, delayed } = await mill.queues.basic.statistics()
  return ready + delayed
}

describe('enqueueing a job', () => {
  test('stores it with all that was said about it', async () => {
    const { mill } = await openJobs()
    const enqueued = await mill.jobs.enqueue(
      'basic',
      'OCR',
      { examId: 'e-1', pages: '3' },
      {
        idempotencyKey: 'e-1/ocr',
        owner: 'user-7',
        tenant: 'school-1',
        attempts: 7,
        tier: 'pro',
        traceId: 'trace-1',
        tags: ['exam', 'term-2'],
        backoff: { from: '10s', factor: 3, max: '1m', jitter: 0 },
      },
    )
    assert.equal(enqueued.status, 'created')
    const job = await mill.jobs.get(enqueued.id)
    assert.ok(job !== undefined)
    assert.deepEqual(job.payload, { examId: 'e-1', pages: '3' })
    assert.deepEqual(
      [job.queue, job.type, job.status, job.result, job.maxAttempts, job.attemptsMade],
      ['academy-dev-basic', 'OCR', 'pending', null, 7, 0],
    )
    assert.deepEqual(
      [job.idempotencyKey, job.owner, job.tenant, job.tier, job.traceId, job.tags],
      ['e-1/ocr', 'user-7', 'school-1', 'pro', 'trace-1', ['exam', 'term-2']],
    )
    const backoff = { fromMs: 10_000, factor: 3, maxMs: 60_000, jitter: 0 }
    assert.deepEqual([job.backendId, job.backoff], [job.id, backoff])
  })

  test('tries it as often as the job, its type, its queue or the default says', async () => {
    const { mill } = await openJobs()
    const attemptsOf = async (id: string): Promise<number | undefined> =>
      (await mill.jobs.get(id))?.maxAttempts
    const own = await mill.jobs.enqueue('basic', 'OMR', 1, { attempts: 9 })
    const ofType = await mill.jobs.enqueue('basic', 'OMR', 1)
    const ofQueue = await mill.jobs.enqueue('lite', 'OCR', { examId: 'e' })
    const byDefault = await mill.jobs.enqueue('basic', 'OCR', { examId: 'e' })
    const ids = [own, ofType, ofQueue, byDefault].map(({ id }) => id)
    assert.deepEqual(await Promise.all(ids.map(attemptsOf)), [9, 5, 2, 3])
  })

  test('holds it back for its delay', async () => {
    const { mill, clock } = await openJobs()
    await mill.jobs.enqueue('basic', 'OCR', { examId: 'e' }, { delay: '5m' })
    assert.equal((await mill.queues.basic.statistics()).delayed, 1)
    await clock.advance(300_000)
    assert.equal((await mill.queues.basic.statistics()).ready, 1)
  })

  test('answers the same job for the same key, while the queue remembers it', async () => {
    const { mill, clock } = await openJobs()
    const enqueue = (): Promise<{ status: string; id: string }> =>
      mill.jobs.enqueue('basic', 'OCR', { examId: 'e-1' }, { idempotencyKey: 'k', owner: 'u' })
    const first = await enqueue()
    assert.deepEqual(await enqueue(), { status: 'duplicate', id: first.id })
    await clock.advance(3_600_000)
    assert.equal((await enqueue()).status, 'created')
  })

  test('takes the key for another one with another owner, type or queue', async () => {
    const { mill } = await openJobs()
    const options = { idempotencyKey: 'k', owner: 'u' }
    const payload = { examId: 'e' }
    const answers = [
      await mill.jobs.enqueue('basic', 'OCR', payload, options),
      await mill.jobs.enqueue('basic', 'OCR', payload, { ...options, owner: 'other' }),
      await mill.jobs.enqueue('basic', 'OMR', payload, options),
      await mill.jobs.enqueue('lite', 'OCR', payload, options),
    ]
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set(['created']))
  })

  test('refuses the same key with another payload, and stores nothing', async () => {
    const scene = await openJobs()
    const { jobs } = scene.mill
    await jobs.enqueue('basic', 'OCR', { examId: 'e-1' }, { idempotencyKey: 'k' })
    const again = jobs.enqueue('basic', 'OCR', { examId: 'e-2' }, { idempotencyKey: 'k' })
    await assert.rejects(again, { code: 'idempotency_conflict', retryable: false })
    assert.equal(await countOf(scene), 1)
  })

  test('lets a waiting job stand for a new one when it may coalesce', async () => {
    const { mill, settleOne } = await openJobs()
    const enqueue = (page: number): Promise<{ status: string; id: string }> =>
      mill.jobs.enqueue('basic', 'OMR', { page }, { idempotencyKey: 'k', coalesce: true })
    const first = await enqueue(1)
    assert.deepEqual(await enqueue(2), { status: 'coalesced', id: first.id })
    await settleOne({ kind: 'acknowledge' })
    assert.equal((await enqueue(3)).status, 'created')
  })
})

describe('jobs of one key within a window', () => {
  const enqueue = (
    { mill }: JobsScene,
    page: number,
    options: Pick<JobOptions, 'throttle' | 'debounce'>,
  ): Promise<{ status: string; id: string }> => mill.jobs.enqueue('basic', 'OMR', { page }, options)

  test('are the first one, with a throttle', async () => {
    const scene = await openJobs()
    const options = { throttle: { key: 'k', window: '1m' } } as const
    const first = await enqueue(scene, 1, options)
    assert.deepEqual(await enqueue(scene, 2, options), { status: 'coalesced', id: first.id })
    await scene.clock.advance(60_000)
    assert.equal((await enqueue(scene, 3, options)).status, 'created')
  })

  test('are the last one, with a debounce, and run no later than its longest wait', async () => {
    const scene = await openJobs()
    const options = { debounce: { key: 'k', window: '10s', maxWait: '15s' } } as const
    const first = await enqueue(scene, 1, options)
    await scene.clock.advance(9_000)
    assert.deepEqual(await enqueue(scene, 2, options), { status: 'coalesced', id: first.id })
    await scene.clock.advance(6_000)
    assert.equal((await scene.mill.queues.basic.statistics()).ready, 1)
    assert.deepEqual((await scene.mill.jobs.get(first.id))?.payload, { page: 2 })
  })

  test('are the same in bulk', async () => {
    const scene = await openJobs()
    const debounce = { key: 'k', window: '10s' } as const
    const entries = [1, 2].map((page) => ({ type: 'OMR', payload: { page }, debounce }) as const)
    const [first, second] = await scene.mill.jobs.enqueueMany('basic', entries)
    assert.deepEqual(second, { status: 'coalesced', id: first?.id })
  })

  const window = { key: 'k', window: '1s' } as const

  test.each<[string, object, string]>([
    [
      'two at once',
      { throttle: window, debounce: window },
      'debounce: got throttle and debounce, expected only one of idempotencyKey, throttle, debounce',
    ],
    [
      'a key twice',
      { throttle: window, idempotencyKey: 'k' },
      'throttle: got idempotencyKey and throttle, expected only one of idempotencyKey, throttle, debounce',
    ],
    [
      'a delay',
      { debounce: window, delay: '1s' },
      'delay: got a delay, expected none with debounce, whose window is the delay',
    ],
    ['no key', { throttle: { window: '1s' } }, 'throttle.key: got undefined'],
    ['a short window', { throttle: { key: 'k', window: '99ms' } }, 'throttle.window: got 99ms'],
    ['a long window', { debounce: { key: 'k', window: '31d' } }, 'debounce.window: got 31d'],
    [
      'a longest wait that is shorter',
      { debounce: { ...window, maxWait: '500ms' } },
      'debounce.maxWait: got 500ms, expected a duration, 1s to 30d',
    ],
    ['an unknown option', { throttle: { ...window, maxWait: '1s' } }, 'throttle.maxWait: got an'],
    ['no object', { throttle: 'k' }, "throttle: got 'k', expected an object of options"],
  ])('are refused with %s, and nothing is stored', async (_what, options, message) => {
    const scene = await openJobs()
    await assert.rejects(scene.mill.jobs.enqueue('basic', 'OMR', 1, options), (error) => {
      assert.ok(error instanceof MillraceError)
      assert.equal(error.code, 'invalid_argument')
      assert.ok(error.message.startsWith(message), error.message)
      return true
    })
    assert.equal(await countOf(scene), 0)
  })
})

describe('a payload that cannot be a job', () => {
  const circular: Record<string, unknown> = {}
  circular['self'] = { circular }

  test.each([
    ['a circle', circular, /^payload: .*without circular references/],
    ['a BigInt', { n: 1n }, /^payload\.n: got a bigint/],
    [
      'a key that is a prototype',
      JSON.parse('{"a":{"__proto__":{"b":1}}}'),
      /^payload\.a\.__proto__/,
    ],
    ['a NUL character', { text: 'secret\0' }, /^payload\.text: got text with such characters/],
    ['a lone surrogate', ['secret\ud800'], /^payload\[0\]: got text with such characters/],
    ['NaN', { n: Number.NaN }, /^payload\.n: got a number that is not finite/],
    ['a Map', new Map([['secret', 1]]), /^payload: got a Map or a Set/],
    ['nothing', undefined, /^payload: got nothing/],
    ['a function', () => 1, /^payload: got a function/],
  ])('because it holds %s is refused, and nothing is stored', async (_what, payload, message) => {
    const scene = await openJobs()
    const { jobs } = scene.mill
    await assert.rejects(jobs.enqueue('basic', 'OMR', payload), (error) => {
      assert.ok(error instanceof MillraceError)
      assert.equal(error.code, 'invalid_message')
      assert.match(error.message, message)
      assert.doesNotMatch(error.message, /secret/)
      return true
    })
    assert.equal(await countOf(scene), 0)
  })

  test('by the contract of its type is refused, by path and never by value', async () => {
    const scene = await openJobs()
    const payload = { examId: 17, pages: 'secret' } as unknown as { examId: string }
    await assert.rejects(scene.mill.jobs.enqueue('basic', 'OCR', payload), {
      code: 'invalid_message',
      message: 'payload.examId: got a number, expected string',
    })
    assert.equal(await countOf(scene), 0)
  })

  test('is refused by its size before it is stored', async () => {
    const scene = await openJobs()
    const payload = 'x'.repeat(1_048_577)
    const enqueued = scene.mill.jobs.enqueue('basic', 'OMR', payload)
    await assert.rejects(enqueued, { code: 'message_too_large' })
    assert.equal(await countOf(scene), 0)
  })
})

describe('options that make no sense', () => {
  test.each<[EnqueueOptions, RegExp]>([
    [{ attempts: 0 }, /^attempts: got 0, expected a whole number, 1 to 1000 attempts$/],
    [{ owner: '' }, /^owner: got '', expected a string of 1 to 256 characters$/],
    [{ idempotencyKey: 'k\ud800' }, /^idempotencyKey: got text with such characters/],
    [{ coalesce: true }, /^idempotencyKey: got undefined, expected a key/],
    [
      { tags: 'one' as unknown as string[] },
      /^tags: got 'one', expected an array of at most 20 texts$/,
    ],
    [{ tags: ['ok', 1n as unknown as string] }, /^tags\[1\]: got a value of type bigint/],
    [{ tenant: 'with space' }, /^tenant: got 'with space', expected 1 to 128 letters/],
    [{ delay: 'soon' as '1s' }, /^delay: got 'soon'/],
    [{ delay: '4000d' }, /^delay: got 4000d, expected a duration, 0s to 10 years$/],
    [{ expiresAfter: '0s' }, /^expiresAfter: got 0s, expected a duration, 1s to 10 years$/],
  ])('are refused: %o', async (options, message) => {
    const scene = await openJobs()
    const enqueued = scene.mill.jobs.enqueue('basic', 'OMR', 1, options)
    await assert.rejects(enqueued, { code: 'invalid_argument', message })
    assert.equal(await countOf(scene), 0)
  })

  test('name the type or the queue that does not exist', async () => {
    const { mill } = await openJobs()
    const untyped = mill.jobs as unknown as {
      enqueue(queue: string, type: string, payload: unknown): Promise<unknown>
    }
    await assert.rejects(untyped.enqueue('basic', 'OCRR', {}), {
      code: 'invalid_argument',
      message: "type: got 'OCRR', expected one of OCR, OMR; did you mean 'OCR'?",
    })
    await assert.rejects(untyped.enqueue('basic', '__proto__', {}), { code: 'invalid_argument' })
    for (const key of ['mail', 'none', '__proto__']) {
      await assert.rejects(untyped.enqueue(key, 'OCR', {}), {
        code: 'invalid_argument',
        message: `queue: got '${key}', expected one of basic, lite`,
      })
    }
  })
})

describe('enqueueing many jobs', () => {
  test('stores all of them, each with its type and its options', async () => {
    const { mill } = await openJobs()
    const enqueued = await mill.jobs.enqueueMany('basic', [
      { type: 'OCR', payload: { examId: 'e-1' }, owner: 'u' },
      { type: 'OMR', payload: [1, 2], attempts: 1 },
    ])
    const found = await Promise.all(enqueued.map(({ id }) => mill.jobs.get(id)))
    assert.deepEqual(
      found.map((job) => [job?.type, job?.payload, job?.owner, job?.maxAttempts]),
      [
        ['OCR', { examId: 'e-1' }, 'u', 3],
        ['OMR', [1, 2], null, 1],
      ],
    )
    assert.deepEqual(await mill.jobs.enqueueMany('basic', []), [])
  })

  test('stores none of them when some are refused, and names each', async () => {
    const scene = await openJobs()
    const enqueued = scene.mill.jobs.enqueueMany('basic', [
      { type: 'OCR', payload: {} as { examId: string } },
      { type: 'OCR', payload: { examId: 'e-1' } },
      { type: 'OMR', payload: { n: 1n } },
    ])
    await assert.rejects(enqueued, {
      code: 'invalid_message',
      message:
        'jobs[0].payload.examId: got nothing, expected string\n' +
        'jobs[2].payload.n: got a bigint, expected a JSON value',
    })
    assert.equal(await countOf(scene), 0)
  })

  test('stores none of them when the key of one was used for another payload', async () => {
    const scene = await openJobs()
    await scene.mill.jobs.enqueue('basic', 'OMR', 1, { idempotencyKey: 'k' })
    const enqueued = scene.mill.jobs.enqueueMany('basic', [
      { type: 'OMR', payload: 2 },
      { type: 'OMR', payload: 3, idempotencyKey: 'k' },
    ])
    await assert.rejects(enqueued, { code: 'idempotency_conflict' })
    assert.equal(await countOf(scene), 1)
  })
})

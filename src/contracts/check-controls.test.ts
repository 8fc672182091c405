import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { complaints } from '../../test/support/complaints.ts'
import { fifo } from './queue-declaration.ts'

const types = { OCR: z.unknown() }

/** What is wrong with a queue of jobs, a plain queue, or a job type with these options. */
const about = {
  jobs: (options: object): readonly string[] =>
    complaints('app', {
      queues: { q: { kind: 'jobs', type: 'standard', options: { types, ...options } } },
    }),
  queue: (options: object): readonly string[] =>
    complaints('app', { queues: { q: { type: 'standard', options } } }),
  type: (options: object): readonly string[] =>
    about.jobs({ types: { OCR: { schema: z.unknown(), ...options } } }),
}

const atOnce = 'expected a whole number, 1 to 100000 at once'
const switchName = 'expected a string of 1 to 128 characters'

describe('how work may run', () => {
  test('can be said of a queue of jobs, of its types, and of plain queues', () => {
    const both = {
      concurrency: 3,
      obeys: ['LLM_PAUSED', 'ALL_PAUSED'],
      backoff: { from: '5s', factor: 2, max: '1h', jitter: 0.2 },
      timeout: '2m',
    }
    const rate = { max: 50, per: '1s' }
    const limits = [{ key: 'customer.id', concurrency: 2, rate }]
    const queue = { ...both, tenantConcurrency: 1, rate, limits }
    assert.deepEqual(about.queue(queue), [])
    assert.deepEqual(about.jobs({ ...queue, obeys: 'LLM_PAUSED' }), [])
    const hidden = { secret: ['password', 'user.token'], personal: ['email'] }
    assert.deepEqual(about.type({ ...both, ...hidden, attempts: 1 }), [])
  })

  test.each([
    [{ concurrency: 0 }, `concurrency: got 0, ${atOnce}`],
    [{ concurrency: 1.5 }, `concurrency: got 1.5, ${atOnce}`],
    [{ timeout: '13h' }, 'timeout: got 13h, expected a duration, 1ms to 12h'],
    [{ timeout: 30 }, "timeout: got 30, expected a duration, 1ms to 12h, written as '30s'"],
    [{ obeys: '' }, `obeys: got '', ${switchName}`],
    [{ obeys: ['A', 5] }, `obeys: got 5, ${switchName}`],
    [
      { obeys: 'A\0B' },
      'obeys: got text with such characters, expected text without NUL characters or lone surrogates',
    ],
    [{ backoff: '5s' }, "backoff: got '5s', expected an object such as { from: '5s', factor: 2 }"],
    [{ backoff: { from: '13h' } }, 'backoff.from: got 13h, expected a duration, 0s to 12h'],
    [{ backoff: { max: '1d' } }, 'backoff.max: got 1d, expected a duration, 0s to 12h'],
    [{ backoff: { factor: 0.5 } }, 'backoff.factor: got 0.5, expected a number, 1 to 10'],
    [{ backoff: { factor: Number.NaN } }, 'backoff.factor: got NaN, expected a number, 1 to 10'],
    [{ backoff: { jitter: 2 } }, 'backoff.jitter: got 2, expected a number, 0 to 1'],
    [
      { backoff: { jiter: 0 } },
      'backoff.jiter: got an unknown option, expected one of from, factor, max, jitter; ' +
        "did you mean 'jitter'?",
    ],
  ])('is refused: %j', (options, complaint) => {
    assert.deepEqual(about.queue(options), [`queues.q.${complaint}`])
    assert.deepEqual(about.jobs(options), [`queues.q.${complaint}`])
    assert.deepEqual(about.type(options), [`queues.q.types.OCR.${complaint}`])
  })

  test.each([
    [{ tenantConcurrency: -1 }, `tenantConcurrency: got -1, ${atOnce}`],
    [{ rate: 50 }, "rate: got 50, expected an object such as { max: 50, per: '1s' }"],
    [
      { rate: { max: 50 } },
      "rate.per: got undefined, expected a duration, 100ms to 1d, written as '30s'",
    ],
    [
      { rate: { max: 0, per: '1s' } },
      'rate.max: got 0, expected a whole number, 1 to 1000000 starts',
    ],
    [{ rate: { max: 1, per: '99ms' } }, 'rate.per: got 99ms, expected a duration, 100ms to 1d'],
    [
      { rate: { max: 1, per: '1s', burst: 3 } },
      'rate.burst: got an unknown option, expected one of max, per',
    ],
  ])('of a whole queue is refused: %j', (options, complaint) => {
    assert.deepEqual(about.queue(options), [`queues.q.${complaint}`])
    assert.deepEqual(about.jobs(options), [`queues.q.${complaint}`])
    const [key = ''] = Object.keys(options)
    assert.match(about.type(options).join(), new RegExp(`OCR\\.${key}: got an unknown option`))
  })

  test('knows no ceiling of a tenant on a FIFO queue, where a group is handled in order', () => {
    const [complaint, ...others] = complaints('app', {
      queues: { q: fifo({ tenantConcurrency: 1 }) },
    })
    assert.match(complaint ?? '', /^queues\.q\.tenantConcurrency: got an unknown option/)
    assert.deepEqual(others, [])
  })

  test.each(['secret', 'personal'])('names the %s parts of a payload by their paths', (key) => {
    for (const wrong of ['email', [], [''], [5], { email: true }]) {
      const found = about.type({ [key]: wrong })
      if (Array.isArray(wrong) && wrong.length === 0) assert.deepEqual(found, [])
      else assert.match(found.join(), /expected paths, such as \['card\.number'\],/)
    }
  })
})

describe('how long finished jobs are kept', () => {
  test.each([
    [{ completed: '30d', failed: 'forever' }],
    [{ completed: 'forever' }],
    [{ failed: '1m' }],
    [{}],
  ])('may be %j', (keepFinished) => {
    assert.deepEqual(about.jobs({ keepFinished }), [])
  })

  test.each([
    [
      '30d',
      "keepFinished: got '30d', expected an object such as { completed: '30d', failed: 'forever' }",
    ],
    [{ completed: '59s' }, 'keepFinished.completed: got 59s, expected a duration, 1m to 10 years'],
    [
      { failed: 'never' },
      "keepFinished.failed: got 'never', expected a duration, 1m to 10 years, written as '30s'",
    ],
    [
      { complete: '1d' },
      'keepFinished.complete: got an unknown option, expected one of completed, failed; ' +
        "did you mean 'completed'?",
    ],
  ])('is refused: %j', (keepFinished, complaint) => {
    assert.deepEqual(about.jobs({ keepFinished }), [`queues.q.${complaint}`])
  })

  test('is no setting of plain queues', () => {
    assert.match(about.queue({ keepFinished: {} }).join(), /keepFinished: got an unknown option/)
  })
})

describe('the receives of a queue of jobs', () => {
  test('may be left out, or say what the attempts say', () => {
    assert.deepEqual(about.jobs({ deadLetter: {} }), [])
    assert.deepEqual(about.jobs({ deadLetter: {}, attempts: 5 }), [])
    assert.deepEqual(about.jobs({ deadLetter: { after: 5 } }), [])
    assert.deepEqual(about.jobs({ deadLetter: { after: 5 }, attempts: 5 }), [])
  })

  test('must not say something else', () => {
    assert.deepEqual(about.jobs({ deadLetter: { after: 3 }, attempts: 5 }), [
      "queues.q.deadLetter.after: got 3, expected 5, like 'attempts', or no 'after' at all",
    ])
  })
})

describe('limits by key', () => {
  const example = "expected an object such as { key: 'customerId', concurrency: 2 }"

  test.each<[unknown, string]>([
    [{ key: 'a' }, 'limits: got a value of type object, expected an array of limits by key'],
    [['a'], `limits[0]: got 'a', ${example}`],
    [[{ key: 'a' }], `limits[0]: got neither concurrency nor rate, ${example}`],
    [[{ key: 'a', concurrency: 0 }], `limits[0].concurrency: got 0, ${atOnce}`],
    [
      [{ key: 'a', rate: 5 }],
      "limits[0].rate: got 5, expected an object such as { max: 50, per: '1s' }",
    ],
    [
      [{ key: 'a[].b', concurrency: 1 }],
      "limits[0].key: got 'a[].b', expected a path in the message, such as 'customer.id', without * or []",
    ],
    [
      [{ concurrency: 1 }],
      'limits[0].key: got undefined, expected a string of 1 to 128 characters',
    ],
    [
      [{ key: 'a', concurency: 1, rate: { max: 1, per: '1s' } }],
      "limits[0].concurency: got an unknown option, expected one of key, concurrency, rate; did you mean 'concurrency'?",
    ],
    [
      ['a', 'a'].map((key) => ({ key, concurrency: 1 })),
      "limits: got 'a' twice, expected each key once",
    ],
    [
      ['a', 'b', 'c', 'd', 'e'].map((key) => ({ key, concurrency: 1 })),
      'limits: got 5 keys, expected at most 4 keys',
    ],
  ])('that are wrong are refused: %j', (limits, complaint) => {
    const expected = [`queues.q.${complaint}`]
    assert.deepEqual(about.jobs({ limits }), expected)
    assert.deepEqual(about.queue({ limits }), expected)
  })

  test('belong to neither FIFO queues nor triggers', () => {
    const limits = [{ key: 'a', concurrency: 1 }]
    for (const q of [
      { type: 'fifo', options: { limits } },
      { kind: 'triggers', type: 'standard', options: { limits } },
    ]) {
      const [complaint] = complaints('app', { queues: { q } })
      assert.match(complaint ?? '', /^queues\.q\.limits: got an unknown option/)
    }
  })
})

import assert from 'node:assert/strict'
import { type } from 'arktype'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { complaints as complaintsAboutApp } from '../../test/support/complaints.ts'
import { defineApp } from './define-app.ts'
import { type JobsOptions, jobs, jobTypeOf } from './jobs-declaration.ts'
import { type DeclaredQueue, queue } from './queue-declaration.ts'
import { resolveQueues } from './resolve-queues.ts'

const Ocr = z.object({ examId: z.string() })

/** What is wrong with an app of these queues, one line for each mistake. */
function complaints(queues: Readonly<Record<string, DeclaredQueue>>): readonly string[] {
  return complaintsAboutApp('academy', { queues })
}

/** The same for one queue whose options TypeScript would refuse. */
function complaintsAbout(options: unknown): readonly string[] {
  return complaints({ basic: jobs(options as JobsOptions) })
}

describe('a queue of jobs', () => {
  test('takes a schema for a type, or its long form, from any library', () => {
    const basic = jobs({
      types: {
        OCR: Ocr,
        OMR: { schema: Ocr, result: z.object({ marks: z.number() }), attempts: 5 },
        STATUS: type({ examId: 'string' }),
      },
      attempts: 4,
      idempotencyFor: '7d',
      visibilityTimeout: '5m',
    })
    assert.deepEqual(complaints({ basic }), [])
    assert.deepEqual(jobTypeOf(basic, 'OCR'), { schema: Ocr })
    assert.equal(jobTypeOf(basic, 'OMR')?.attempts, 5)
    assert.equal(typeof jobTypeOf(basic, 'STATUS')?.schema, 'function')
  })

  test('has no types but its own', () => {
    const basic = jobs({ types: { OCR: Ocr } })
    for (const name of ['constructor', '__proto__', 'toString', 'ocr', '']) {
      assert.equal(jobTypeOf(basic, name), undefined, name)
    }
  })

  test('is a standard queue on the backend, with its dead letters', () => {
    const basicJobs = jobs({
      types: { OCR: Ocr },
      visibilityTimeout: '5m',
      deadLetter: { after: 3 },
      tags: { team: 'ai' },
    })
    const { planned } = resolveQueues(
      defineApp('academy', { queues: { basicJobs, plain: queue() } }),
      'prod',
    )
    assert.deepEqual(
      planned.map(({ queue: name }) => name),
      ['academy-prod-basic-jobs-dlq', 'academy-prod-basic-jobs', 'academy-prod-plain'],
    )
    const { settings, tags } = planned[1] ?? assert.fail()
    assert.deepEqual(
      [settings.type, settings.visibilityMs, tags],
      ['standard', 300_000, { team: 'ai' }],
    )
    assert.deepEqual(settings.deadLetter, { queue: 'academy-prod-basic-jobs-dlq', maxReceives: 3 })
  })

  test('may share a dead-letter queue of messages, but not take dead letters itself', () => {
    const types = { OCR: Ocr }
    assert.deepEqual(
      complaints({
        basic: jobs({ types, deadLetter: { after: 3, queue: 'dead' } }),
        dead: queue(),
      }),
      [],
    )
    assert.deepEqual(
      complaints({
        basic: jobs({ types }),
        mail: queue({ deadLetter: { after: 3, queue: 'basic' } }),
      }),
      [
        "queues.mail.deadLetter.queue: got 'basic', a jobs queue, " +
          'expected a queue declared with queue({...})',
      ],
    )
  })
})

describe('what is wrong with a queue of jobs', () => {
  const schemaWanted = 'expected a Standard Schema, such as one of zod, valibot or arktype'
  const typesWanted = 'expected an object with at least one job type'

  test.each([
    [{}, `queues.basic.types: got undefined, ${typesWanted}`],
    [{ types: {} }, `queues.basic.types: got no type, ${typesWanted}`],
    [{ types: [Ocr] }, `queues.basic.types: got an array, ${typesWanted}`],
    [{ types: { OCR: 3 } }, `queues.basic.types.OCR: got 3, ${schemaWanted}`],
    [{ types: { OCR: null } }, `queues.basic.types.OCR: got null, ${schemaWanted}`],
    [
      { types: { OCR: { '~standard': {} } } },
      `queues.basic.types.OCR: got a value of type object, ${schemaWanted}`,
    ],
    [{ types: { OCR: {} } }, `queues.basic.types.OCR.schema: got undefined, ${schemaWanted}`],
    [
      { types: { OCR: { schema: Ocr, result: 'text' } } },
      `queues.basic.types.OCR.result: got 'text', ${schemaWanted}`,
    ],
    [
      { types: { OCR: { schema: Ocr, attempts: 0 } } },
      'queues.basic.types.OCR.attempts: got 0, expected a whole number, 1 to 1000 attempts',
    ],
    [
      { types: { OCR: { schema: Ocr, attempt: 2 } } },
      'queues.basic.types.OCR.attempt: got an unknown option, expected one of schema, result, ' +
        'attempts, expiresAfter, secret, personal, noPersonalData, run, concurrency, obeys, backoff, timeout; ' +
        "did you mean 'attempts'?",
    ],
    [
      { types: { '': Ocr } },
      "queues.basic.types.: got '', expected a string of 1 to 128 characters",
    ],
    [
      { types: { OCR: Ocr }, attempts: 1_001 },
      'queues.basic.attempts: got 1001, expected a whole number, 1 to 1000 attempts',
    ],
    [
      { types: { OCR: Ocr }, idempotencyFor: '10ms' },
      'queues.basic.idempotencyFor: got 10ms, expected a duration, 1s to 90d',
    ],
    [
      { types: { OCR: Ocr }, deduplication: 'content' },
      'queues.basic.deduplication: got an option of FIFO queues, ' +
        'expected a queue declared with fifo({...})',
    ],
  ])('is named: %j', (options, complaint) => {
    assert.deepEqual(complaintsAbout(options), [complaint])
  })

  test('is named when a type has too long a name, or one that no store can keep', () => {
    const name = 'x'.repeat(129)
    const [complaint, ...others] = complaintsAbout({ types: { [name]: Ocr } })
    assert.match(complaint ?? '', /^queues\.basic\.types\.x{128}: got .* 1 to 128 characters$/)
    assert.deepEqual(others, [])
    assert.match(complaintsAbout({ types: { 'a\0b': Ocr } })[0] ?? '', /without NUL/)
  })

  test('is named when it has the contract of a plain queue, or nothing at all', () => {
    const [complaint] = complaintsAbout({ types: { OCR: Ocr }, schema: Ocr })
    assert.match(complaint ?? '', /^queues\.basic\.schema: got an unknown option/)
    assert.match(complaintsAbout(undefined)[0] ?? '', /jobs\({...}\) or triggers\({...}\)$/)
    const ordered = { ...jobs({ types: { OCR: Ocr } }), type: 'fifo' } as const
    assert.match(complaints({ ordered })[0] ?? '', /jobs\({...}\) or triggers\({...}\)$/)
  })

  test('is named all at once', () => {
    const lines = complaintsAbout({ types: { OCR: 1, OMR: 2 }, attempts: -1, retention: '1s' })
    assert.deepEqual(
      lines.map((line) => line.slice(0, line.indexOf(':'))),
      [
        'queues.basic.types.OCR',
        'queues.basic.types.OMR',
        'queues.basic.attempts',
        'queues.basic.retention',
      ],
    )
  })
})

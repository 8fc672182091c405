import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { openScene } from '../../test/support/worker-scene.ts'
import { collector, triggers } from '../contracts/collector-declaration.ts'
import { defineApp } from '../contracts/define-app.ts'
import { jobs } from '../contracts/jobs-declaration.ts'
import { fifo, queue } from '../contracts/queue-declaration.ts'
import { resolveQueues } from '../contracts/resolve-queues.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { buildSources } from './build-sources.ts'
import type { UntypedWorkerOptions } from './worker-options.ts'

const app = defineApp('app', {
  queues: {
    basic: jobs({
      types: {
        OCR: { schema: z.string(), timeout: '1m', secret: ['a'], personal: ['b'] },
        OMR: z.number(),
      },
      timeout: '2m',
      backoff: { from: '1s' },
      visibilityTimeout: '5m',
      deadLetter: { after: 4 },
    }),
    mail: queue({ schema: z.string() }),
    steps: fifo(),
    hasty: queue({ visibilityTimeout: '0s' }),
    delay: triggers({ visibilityTimeout: '1m', deadLetter: { after: 2 } }),
  },
  collectors: {
    talks: collector({
      schema: z.string(),
      key: (text) => text,
      id: (text) => text,
      window: '1s',
      triggers: 'delay',
      targets: ['mail'],
      merge: (items) => items.join(),
    }),
  },
})
const resolved = resolveQueues(app, 'dev')
const run = (): void => undefined
const merge = (): void => undefined
const ownHandlers = new Map([['delay', merge]])
const good = { poll: ['mail'], handle: { mail: run } }

const build = (options: unknown, concurrency = 10) =>
  buildSources({
    resolved,
    options: options as UntypedWorkerOptions,
    concurrency,
    triggers: ownHandlers,
  })

function complaints(options: unknown): readonly string[] {
  try {
    const { concurrency = 10 } = options as { readonly concurrency?: number }
    build(options, concurrency)
  } catch (error) {
    assert.ok(error instanceof MillraceError)
    assert.equal(error.code, 'invalid_argument')
    return error.message.split('\n')
  }
  return []
}

describe('the sources of a worker', () => {
  test('know all that is declared about their queues', () => {
    const handle = { OCR: run, OMR: run, mail: run, steps: run }
    const poll = { basic: 3, mail: 1, steps: 2 }
    const [basic, mail, steps] = build({ poll, handle, queueConcurrency: { mail: 2, steps: 50 } })
    assert.ok(basic && mail && steps)
    const { key, name, visibilityMs, maxReceives, concurrency } = basic.setup
    assert.deepEqual(
      [key, name, basic.weight, visibilityMs, maxReceives, concurrency],
      ['basic', 'app-dev-basic', 3, 300_000, 4, 10],
    )
    assert.deepEqual(
      [basic.isJobs, basic.isFifo, mail.isJobs, steps.isFifo],
      [true, false, false, true],
    )
    // No queue runs more than its worker.
    assert.deepEqual([mail.setup.concurrency, steps.setup.concurrency], [2, 10])
    assert.deepEqual([mail.setup.maxReceives, mail.setup.visibilityMs], [null, 30_000])

    const ocr = basic.work('OCR')
    assert.deepEqual(
      [ocr?.timeoutMs, ocr?.hidden, ocr?.backoff.fromMs],
      [60_000, ['a', 'b'], 1_000],
    )
    const omr = basic.work('OMR')
    assert.deepEqual([omr?.timeoutMs, omr?.hidden, omr?.result], [120_000, [], undefined])
    assert.equal(basic.work('toString'), undefined)
    assert.equal(mail.work('')?.timeoutMs, undefined)
  })

  test('leave handlers of other queues alone, so that workers can share one object', () => {
    const handle = { OCR: run, OMR: run, mail: run, steps: run, hasty: undefined }
    const [mail, ...others] = build({ poll: ['mail'], handle })
    assert.deepEqual([...(mail?.setup.handlers.keys() ?? [])], [''])
    assert.equal(others.length, 0)
  })

  test('have the same weight when none is given', () => {
    const sources = build({ poll: ['mail', 'steps'], handle: { mail: run, steps: run } })
    assert.deepEqual(
      sources.map(({ weight }) => weight),
      [1, 1],
    )
  })
})

describe('a queue of triggers', () => {
  test('is served by its collector', () => {
    const [delay] = build({ poll: ['delay'], handle: {} })
    assert.equal(delay?.work('')?.handler, merge)
    assert.deepEqual([delay.setup.maxReceives, delay.setup.visibilityMs], [2, 60_000])
  })

  test('takes no other handler', () => {
    assert.deepEqual(complaints({ poll: ['delay'], handle: { delay: run } }), [
      'handle.delay: got a handler, expected a job type or the key of a plain queue of the app',
    ])
  })
})

describe('the options of a worker', () => {
  test.each([
    [
      { handle: {} },
      "poll: got undefined, expected at least one queue, such as ['basic'] or { basic: 3, lite: 1 }",
    ],
    [
      { poll: [], handle: {} },
      "poll: got no queue, expected at least one queue, such as ['basic'] or { basic: 3, lite: 1 }",
    ],
    [
      { poll: 'mail', handle: {} },
      "poll: got 'mail', expected at least one queue, such as ['basic'] or { basic: 3, lite: 1 }",
    ],
    [
      { poll: ['mails'], handle: {} },
      "poll: got 'mails', expected the key of a declared queue; did you mean 'mail'?",
    ],
    [{ ...good, poll: { mail: 0 } }, 'poll.mail: got 0, expected a whole number, 1 to 1000 times'],
    [
      { ...good, poll: { mail: 1.5 } },
      'poll.mail: got 1.5, expected a whole number, 1 to 1000 times',
    ],
    [
      { ...good, concurrency: 0 },
      'concurrency: got 0, expected a whole number, 1 to 100000 at once',
    ],
    [
      { ...good, queueConcurrency: { mail: 0 } },
      'queueConcurrency.mail: got 0, expected a whole number, 1 to 100000 at once',
    ],
    [
      { ...good, queueConcurrency: { mial: 1 } },
      'queueConcurrency.mial: got a number, expected a queue that is polled',
    ],
    [
      { ...good, queueConcurrency: { mails: 1 } },
      "queueConcurrency.mails: got a number, expected a queue that is polled; did you mean 'mail'?",
    ],
    [
      { ...good, queueConcurrency: 3 },
      'queueConcurrency: got 3, expected an object such as { lite: 1 }',
    ],
    [
      { poll: ['basic'], handle: { OCR: run } },
      "handle.OMR: got undefined, expected a function: the queue 'basic' is polled",
    ],
    [
      { poll: ['mail'], handle: { mail: 'run' } },
      "handle.mail: got 'run', expected a function: the queue 'mail' is polled",
    ],
    [
      { poll: ['mail'], handle: { mail: run, OCR: 'run' } },
      "handle.OCR: got 'run', expected a function",
    ],
    [
      { poll: ['mail'], handle: { mail: run, basic: run } },
      'handle.basic: got a handler, expected a job type or the key of a plain queue of the app',
    ],
    [
      { poll: ['mail'], handle: { mail: run, toString: run } },
      'handle.toString: got a handler, expected a job type or the key of a plain queue of the app',
    ],
    [{ ...good, use: run }, 'use: got a value of type function, expected an array of functions'],
    [{ ...good, use: [run, 5] }, 'use: got an array, expected an array of functions'],
    [{ ...good, onEvent: 'log' }, "onEvent: got 'log', expected a function"],
    [
      { ...good, concurency: 5 },
      'concurency: got an unknown option, expected one of poll, handle, concurrency, ' +
        "queueConcurrency, use, stopTimeout, onEvent; did you mean 'concurrency'?",
    ],
    [
      { poll: ['hasty'], handle: { hasty: run } },
      'poll.hasty: got a visibility timeout of 0s, expected at least 100ms, so that the worker can renew its leases',
    ],
  ])('%j are refused', (options, complaint) => {
    assert.deepEqual(complaints(options), [complaint])
  })

  test('are refused for a misspelt handler with the one that was meant', () => {
    assert.deepEqual(complaints({ poll: ['basic'], handle: { OCR: run, OMRS: run } }), [
      "handle.OMR: got undefined, expected a function: the queue 'basic' is polled",
      "handle.OMRS: got a handler, expected a job type or the key of a plain queue of the app; did you mean 'OMR'?",
    ])
  })

  test('are refused for a misspelt handler of a queue that is not polled', () => {
    assert.deepEqual(complaints({ poll: ['mail'], handle: { mail: run, OCRR: run } }), [
      "handle.OCRR: got a handler, expected a job type or the key of a plain queue of the app; did you mean 'OCR'?",
    ])
  })

  test('are refused without handlers, and all mistakes are told at once', () => {
    assert.deepEqual(complaints({ poll: ['mail'], concurrency: -1 }), [
      'concurrency: got -1, expected a whole number, 1 to 100000 at once',
      'handle: got undefined, expected an object of functions, by job type or key of a plain queue',
      "handle.mail: got undefined, expected a function: the queue 'mail' is polled",
    ])
  })

  test('are refused when the worker is made, before anything runs', async () => {
    const { mill } = await openScene(app)
    const options = { ...good, stopTimeout: 30 } as never
    assert.throws(() => mill.worker(options), {
      code: 'invalid_argument',
      message: /^stopTimeout: got 30/,
    })
    assert.throws(() => mill.worker({} as never), {
      code: 'invalid_argument',
      message: /poll: got undefined/,
    })
  })
})

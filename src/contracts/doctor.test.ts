import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { defineApp } from './define-app.ts'
import { doctorRules, examine } from './doctor.ts'
import { examineApp } from './examine-app.ts'
import type { ExaminedConsumer, ExaminedQueue, ExaminedQueues } from './examined-facts.ts'
import { jobs } from './jobs-declaration.ts'
import { fifo, queue } from './queue-declaration.ts'
import { resolveQueues } from './resolve-queues.ts'

const day = 86_400_000

/** A queue and a function at which the doctor finds nothing. */
const orders: ExaminedQueue = {
  name: 'orders',
  settings: { visibilityMs: 180_000, deadLetter: { queue: 'dead', maxReceives: 5 } },
  at: { file: 'template.yaml', line: 3, column: 3 },
}
const dead: ExaminedQueue = {
  name: 'dead',
  settings: { retentionMs: 14 * day, receiveWaitMs: 20_000 },
  isWatched: true,
}
const worker: ExaminedConsumer = {
  name: 'worker',
  queue: 'orders',
  timeoutMs: 30_000,
  batchSize: 10,
  batchingWindowMs: 0,
  maximumConcurrency: null,
  reservedConcurrency: null,
  reportsBatchItemFailures: true,
}
const healthy: ExaminedQueues = { queues: [dead, orders], consumers: [worker] }

interface Change {
  readonly orders?: Partial<ExaminedQueue['settings']>
  readonly dead?: Partial<ExaminedQueue['settings']>
  readonly worker?: Partial<ExaminedConsumer>
}

function changed(change: Change): ExaminedQueues {
  return {
    queues: [
      { ...dead, settings: { ...dead.settings, ...change.dead } },
      { ...orders, settings: { ...orders.settings, ...change.orders } },
    ],
    consumers: [{ ...worker, ...change.worker }],
  }
}

const fifoOrders = { type: 'fifo', visibilityMs: 180_000 } as const

describe('the doctor', () => {
  test('finds nothing wrong with what is well', () => {
    assert.deepEqual(examine(healthy), [])
  })

  test.each<[string, ExaminedQueues]>([
    ['visibility-below-timeout', changed({ orders: { visibilityMs: 29_000 } })],
    ['visibility-below-six-timeouts', changed({ orders: { visibilityMs: 179_000 } })],
    ['visibility-below-six-timeouts', changed({ worker: { batchingWindowMs: 1_000 } })],
    ['dead-letter-type', changed({ orders: { type: 'fifo' } })],
    ['dead-letter-retention', changed({ dead: { retentionMs: 4 * day } })],
    ['single-receive', changed({ orders: { deadLetter: { queue: 'dead', maxReceives: 1 } } })],
    ['few-receives', changed({ orders: { deadLetter: { queue: 'dead', maxReceives: 4 } } })],
    ['no-dead-letters', changed({ orders: { deadLetter: null } })],
    ['redrive-not-allowed', changed({ dead: { deadLetterSources: 'none' } })],
    ['redrive-not-allowed', changed({ dead: { deadLetterSources: ['others'] } })],
    ['batch-needs-window', changed({ worker: { batchSize: 11 } })],
    ['whole-batch-fails', changed({ worker: { reportsBatchItemFailures: false } })],
    ['delay-beyond-retention', changed({ orders: { delayMs: 901_000, retentionMs: 901_000 } })],
    ['retention-below-retries', changed({ orders: { retentionMs: 900_000 } })],
    [
      'concurrency-above-reserved',
      changed({ worker: { maximumConcurrency: 5, reservedConcurrency: 4 } }),
    ],
    ['reserved-without-maximum', changed({ worker: { reservedConcurrency: 20 } })],
    ['never-runs', changed({ worker: { reservedConcurrency: 0, maximumConcurrency: 2 } })],
    ['dead-letters-unwatched', { ...healthy, queues: [{ ...dead, isWatched: false }, orders] }],
    ['short-polling', { ...healthy, queues: [dead, orders, { name: 'polled', settings: {} }] }],
    [
      'no-visibility',
      {
        queues: [
          dead,
          {
            name: 'orders',
            isConsumed: true,
            settings: { visibilityMs: 0, deadLetter: { queue: 'dead', maxReceives: 5 } },
          },
        ],
        consumers: [],
      },
    ],
    [
      'same-function-for-dead-letters',
      {
        queues: [dead, orders],
        consumers: [worker, { ...worker, queue: 'dead', timeoutMs: 1_000 }],
      },
    ],
    [
      'dead-letter-itself',
      {
        queues: [
          {
            name: 'orders',
            isWatched: false,
            settings: { visibilityMs: 180_000, deadLetter: { queue: 'orders', maxReceives: 5 } },
          },
        ],
        consumers: [worker],
      },
    ],
    [
      'fifo-batch-size',
      {
        queues: [
          {
            name: 'orders',
            settings: { ...fifoOrders, deadLetter: { queue: 'far', maxReceives: 5 } },
          },
        ],
        consumers: [{ ...worker, batchSize: 11 }],
      },
    ],
    [
      'fifo-window',
      {
        queues: [
          {
            name: 'orders',
            settings: { ...fifoOrders, deadLetter: { queue: 'far', maxReceives: 5 } },
          },
        ],
        consumers: [{ ...worker, batchingWindowMs: 1_000, timeoutMs: 20_000 }],
      },
    ],
    ['backups-by-database', { ...healthy, store: { name: 'postgres', backups: false } }],
  ])('finds %s, and nothing else', (rule, resolved) => {
    assert.deepEqual([...new Set(examine(resolved).map((finding) => finding.rule))], [rule])
  })

  test('has a test for each of its rules, with names of their own', async () => {
    const { readFileSync } = await import('node:fs')
    const source = readFileSync(new URL(import.meta.url), 'utf8')
    const names = doctorRules.map(({ name }) => name)
    assert.equal(new Set(names).size, names.length)
    assert.deepEqual(
      names.filter((name) => !source.includes(`'${name}'`)),
      [],
    )
  })

  test('gives the reason and the fix, with numbers', () => {
    const [finding] = examine(changed({ orders: { visibilityMs: 20_000 } }))
    assert.deepEqual(finding, {
      rule: 'visibility-below-timeout',
      severity: 'error',
      subject: 'worker',
      reason:
        "It may run for 30s, and 'orders' hides a message for 20s. AWS refuses that: " +
        'the message would be delivered again while the function still handles it.',
      fix: "Set the visibility timeout of 'orders' to 3m, six times the function's.",
    })
  })

  test('names the place where it knows it, and errors come first', () => {
    const findings = examine(
      changed({ orders: { deadLetter: null, visibilityMs: 1_000 }, worker: { batchSize: 20 } }),
    )
    assert.deepEqual(
      findings.map(({ severity, at }) => [severity, at?.line]),
      [
        ['error', undefined],
        ['error', undefined],
        ['warning', 3],
      ],
    )
  })

  test('adds up the concurrency of all queues of a function', () => {
    const source = { ...worker, maximumConcurrency: 3, reservedConcurrency: 5 }
    const more = { ...orders, name: 'more' }
    const findings = examine({
      queues: [dead, orders, more],
      consumers: [source, { ...source, queue: 'more' }],
    })
    assert.deepEqual(
      findings.map(({ rule, reason }) => [rule, reason.slice(0, 36)]),
      [['concurrency-above-reserved', 'Its queues may run 6 invocations at ']],
    )
  })

  test('follows dead letters all the way round', () => {
    const link = (name: string, target: string): ExaminedQueue => ({
      name,
      settings: {
        receiveWaitMs: 1_000,
        retentionMs: 14 * day,
        deadLetter: { queue: target, maxReceives: 5 },
      },
    })
    const findings = examine({
      queues: [link('a', 'b'), link('b', 'c'), link('c', 'a'), link('d', 'a')],
      consumers: [],
    })
    assert.deepEqual(
      findings.map(({ subject }) => subject),
      ['a', 'b', 'c'],
    )
    const [first] = findings
    assert.deepEqual([first?.rule, first?.severity], ['dead-letter-circle', 'error'])
    assert.match(first?.reason ?? '', /a → b → c → a/)
  })

  test('warns of a queue that is its own dead-letter queue, as SQS accepts it', () => {
    const deadLetter = { queue: 'a', maxReceives: 5 }
    const settings = { receiveWaitMs: 1_000, deadLetter }
    const [found, ...others] = examine({ queues: [{ name: 'a', settings }], consumers: [] })
    assert.deepEqual([found?.rule, found?.severity, others], ['dead-letter-itself', 'warning', []])
    assert.match(found?.reason ?? '', /stays in the queue, .* and its receive count rises/)
  })
})

describe('the doctor on an app', () => {
  test('knows that attempts end a job, and retention does not', () => {
    const app = defineApp('app', {
      queues: { work: jobs({ types: { MAIL: z.object({}) }, keepFinished: { failed: '7d' } }) },
    })
    const [found, ...others] = examineApp(resolveQueues(app, 'dev'))
    assert.deepEqual([found?.rule, others], ['no-dead-letters', []])
    assert.match(found?.reason ?? '', /uses up its attempts ends as failed and is removed after 7d/)
    assert.doesNotMatch(found?.reason ?? '', /comes back|retention/)
  })

  test('knows that retention does not end a job that waits or fails', () => {
    const app = defineApp('app', {
      queues: {
        work: jobs({
          types: { MAIL: z.object({}) },
          deadLetter: { queue: 'failed', after: 5 },
          visibilityTimeout: '1h',
          retention: '1h',
        }),
        failed: queue({ retention: '1h' }),
      },
    })
    assert.deepEqual(rulesFor(app), [])
  })

  const rulesFor = (app: Parameters<typeof resolveQueues>[0]): readonly string[] =>
    examineApp(resolveQueues(app, 'dev')).map(({ rule, subject }) => `${subject}: ${rule}`)

  test('finds nothing wrong with a queue that has its own dead letters', () => {
    assert.deepEqual(rulesFor(defineApp('app', { queues: { q: queue({ deadLetter: {} }) } })), [])
  })

  test('finds what is missing and what is too short', () => {
    const app = defineApp('app', {
      queues: {
        plain: queue(),
        ordered: fifo({ deadLetter: { after: 1 } }),
        short: queue({ deadLetter: { queue: 'failed' } }),
        failed: queue({ retention: '1d' }),
      },
    })
    assert.deepEqual(rulesFor(app), [
      'app-dev-plain: no-dead-letters',
      'app-dev-short: dead-letter-retention',
      'app-dev-ordered.fifo: single-receive',
    ])
  })
})

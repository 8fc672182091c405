import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { defineApp } from './define-app.ts'
import { jobs } from './jobs-declaration.ts'
import { fifo, queue } from './queue-declaration.ts'
import { backoffOf } from './resolve-controls.ts'
import { resolveQueues } from './resolve-queues.ts'

const payload = z.unknown()

describe('the controls of a queue', () => {
  const { planned } = resolveQueues(
    defineApp('app', {
      queues: {
        basic: jobs({
          types: {
            OCR: payload,
            OMR: { schema: payload, concurrency: 2, obeys: 'OMR_PAUSED' },
            CHAT: { schema: payload, obeys: ['LLM_PAUSED', 'CHAT_PAUSED'] },
          },
          concurrency: 5,
          tenantConcurrency: 1,
          rate: { max: 50, per: '1s' },
          limits: [
            { key: 'customer.id', concurrency: 2 },
            { key: 'region', rate: { max: 10, per: '1m' } },
          ],
          obeys: 'ALL_PAUSED',
          keepFinished: { completed: '1h', failed: 'forever' },
          deadLetter: {},
        }),
        mail: queue({ rate: { max: 1, per: '1m' }, deadLetter: {} }),
        steps: fifo({ concurrency: 7, obeys: ['A', 'B'], deadLetter: { after: 9 } }),
      },
    }),
    'dev',
  )
  const settingsOf = (name: string) =>
    planned.find(({ queue: one }) => one === `app-dev-${name}`)?.settings ?? assert.fail()

  test('of jobs are those of the queue and of its types', () => {
    const { ceilings, obeys, history } = settingsOf('basic')
    assert.deepEqual(ceilings, {
      running: 5,
      runningPerTenant: 1,
      runningPerType: { OMR: 2 },
      rate: { max: 50, perMs: 1_000 },
      perKey: [
        { key: 'customer.id', running: 2, rate: null },
        { key: 'region', running: null, rate: { max: 10, perMs: 60_000 } },
      ],
    })
    assert.deepEqual(obeys, {
      queue: ['ALL_PAUSED'],
      types: { OMR: ['OMR_PAUSED'], CHAT: ['LLM_PAUSED', 'CHAT_PAUSED'] },
    })
    assert.deepEqual(history, { completedMs: 3_600_000, failedMs: null })
  })

  test('of plain messages are those of the queue', () => {
    assert.deepEqual(settingsOf('mail').ceilings.rate, { max: 1, perMs: 60_000 })
    assert.equal(settingsOf('steps.fifo').ceilings.running, 7)
    assert.deepEqual(settingsOf('steps.fifo').obeys, { queue: ['A', 'B'], types: {} })
  })

  test('do not pass to its dead-letter queue', () => {
    const { ceilings, obeys, history } = settingsOf('basic-dlq')
    assert.deepEqual(ceilings, {
      running: null,
      runningPerTenant: null,
      runningPerType: {},
      rate: null,
      perKey: [],
    })
    assert.deepEqual(obeys, { queue: [], types: {} })
    assert.deepEqual(history, { completedMs: 2_592_000_000, failedMs: 7_776_000_000 })
  })

  test('leave three receives before a dead letter, unless attempts or `after` say more', () => {
    const receives = (name: string) => settingsOf(name).deadLetter?.maxReceives
    assert.deepEqual([receives('basic'), receives('mail'), receives('steps.fifo')], [3, 3, 9])
    const app = defineApp('app', {
      queues: { basic: jobs({ types: { OCR: payload }, attempts: 5, deadLetter: {} }) },
    })
    const [, basic] = resolveQueues(app, 'dev').planned
    assert.equal(basic?.settings.deadLetter?.maxReceives, 5)
  })
})

describe('the waits between attempts', () => {
  const usual = { fromMs: 5_000, factor: 2, maxMs: 3_600_000, jitter: 0.2 }

  test('are the first that was declared, with the rest as usual', () => {
    assert.deepEqual(backoffOf(undefined, undefined), usual)
    assert.deepEqual(backoffOf(undefined, { from: '1s' }), { ...usual, fromMs: 1_000 })
    assert.deepEqual(backoffOf({ factor: 1, jitter: 0 }, { from: '1s' }), {
      ...usual,
      factor: 1,
      jitter: 0,
    })
    assert.deepEqual(backoffOf({ max: '1m' }), { ...usual, maxMs: 60_000 })
  })

  test('are at no time shorter than the first', () => {
    assert.equal(backoffOf({ from: '2h' }).maxMs, 7_200_000)
    assert.equal(backoffOf({ from: '1m', max: '5s' }).maxMs, 60_000)
  })
})

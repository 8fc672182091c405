import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { z } from 'zod'
import { complaints } from '../../test/support/complaints.ts'
import { jobs } from './jobs-declaration.ts'
import { queue } from './queue-declaration.ts'

const queues = {
  basic: jobs({ types: { OCR: z.unknown(), OMR: z.unknown() } }),
  lite: jobs({ types: { OCR: z.unknown() } }),
  mail: queue(),
}

const tiers = {
  basic: { queue: 'basic', allows: ['OCR', 'OMR'] },
  gold: { queue: 'basic', allows: ['OMR'] },
  lite: { queue: 'lite', allows: ['OCR'] },
}

const about = (declaration: object): readonly string[] =>
  complaints('app', { queues, ...declaration })

describe('tiers', () => {
  test('say which types they run, and in which queue', () => {
    assert.deepEqual(about({ tiers, defaultTier: { OCR: 'lite', OMR: 'gold' } }), [])
    assert.deepEqual(about({ tiers: {}, defaultTier: {} }), [])
  })

  test.each([
    [['lite'], 'tiers: got an array, expected an object of tiers'],
    [
      { lite: 'lite' },
      "tiers.lite: got 'lite', expected a tier such as { queue: 'lite', allows: ['OCR'] }",
    ],
    [
      { lite: { queue: 'lites', allows: ['OCR'] } },
      "tiers.lite.queue: got 'lites', expected the key of a jobs queue; did you mean 'lite'?",
    ],
    [
      { lite: { queue: 'mail', allows: ['OCR'] } },
      "tiers.lite.queue: got 'mail', expected the key of a jobs queue",
    ],
    [
      { lite: { allows: ['OCR'] } },
      'tiers.lite.queue: got undefined, expected the key of a jobs queue',
    ],
    [
      { lite: { queue: 'lite' } },
      'tiers.lite.allows: got undefined, expected at least one job type',
    ],
    [
      { lite: { queue: 'lite', allows: [] } },
      'tiers.lite.allows: got an array, expected at least one job type',
    ],
    [
      { lite: { queue: 'lite', allows: ['OCR', 'OMR'] } },
      "tiers.lite.allows: got 'OMR', expected one of OCR",
    ],
    [
      { lite: { queue: 'lite', allow: ['OCR'], allows: ['OCR'] } },
      "tiers.lite.allow: got an unknown option, expected one of queue, allows; did you mean 'allows'?",
    ],
    [
      { '': { queue: 'lite', allows: ['OCR'] } },
      "tiers.: got '', expected a string of 1 to 256 characters",
    ],
  ])('are refused: %j', (given, complaint) => {
    assert.deepEqual(about({ tiers: given }), [complaint])
  })
})

describe('the default tier of a type', () => {
  test.each([
    ['lite', "defaultTier: got 'lite', expected an object such as { OCR: 'lite' }"],
    [{ OCR: 'iron' }, "defaultTier.OCR: got 'iron', expected one of basic, gold, lite"],
    [{ OCR: 'gold' }, "defaultTier.OCR: got 'gold', expected a tier that allows OCR"],
    [
      { SCAN: 'lite' },
      'defaultTier.SCAN: got an unknown job type, expected a type of a jobs queue of the app',
    ],
  ])('is refused: %j', (defaultTier, complaint) => {
    assert.deepEqual(about({ tiers, defaultTier }), [complaint])
  })

  test('needs tiers to choose from', () => {
    assert.deepEqual(about({ defaultTier: { OCR: 'lite' } }), [
      "defaultTier.OCR: got 'lite', expected an app that declares tiers",
    ])
  })
})

describe('budgets', () => {
  test('have a limit, a switch, and maybe a span', () => {
    const budgets = {
      llm: { limit: 100, per: '1d', trips: 'LLM_PAUSED', mode: 'divert' },
      tokens: { limit: 0.5, trips: 'LLM_PAUSED' },
    }
    assert.deepEqual(about({ budgets }), [])
  })

  const budget = { limit: 1, trips: 'LLM_PAUSED' }
  test.each([
    [5, 'budgets: got 5, expected an object of budgets'],
    [
      { llm: 5 },
      "budgets.llm: got 5, expected a budget such as { limit: 100, per: '1d', trips: 'LLM_PAUSED' }",
    ],
    [
      { llm: { ...budget, limit: 0 } },
      'budgets.llm.limit: got 0, expected a number above 0, at most 1000000000000000',
    ],
    [
      { llm: { ...budget, limit: Number.POSITIVE_INFINITY } },
      'budgets.llm.limit: got Infinity, expected a number above 0, at most 1000000000000000',
    ],
    [
      { llm: { limit: 1 } },
      'budgets.llm.trips: got undefined, expected a string of 1 to 128 characters',
    ],
    [{ llm: { ...budget, per: '0s' } }, 'budgets.llm.per: got 0s, expected a duration, 1s to 366d'],
    [
      { llm: { ...budget, mode: 'stop' } },
      "budgets.llm.mode: got 'stop', expected one of hold, divert",
    ],
    [
      { llm: { ...budget, trip: 'X' } },
      "budgets.llm.trip: got an unknown option, expected one of limit, unit, per, trips, mode; did you mean 'trips'?",
    ],
    [
      { llm: { ...budget, unit: 'x'.repeat(33) } },
      `budgets.llm.unit: got '${'x'.repeat(33)}', expected a string of 1 to 32 characters`,
    ],
    [{ '': budget }, "budgets.: got '', expected a string of 1 to 128 characters"],
  ])('are refused: %j', (budgets, complaint) => {
    assert.deepEqual(about({ budgets }), [complaint])
  })
})

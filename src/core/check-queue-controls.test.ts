import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { checkQueueSettings } from './check-queue.ts'
import type { Violations } from './checks.ts'
import { defaultQueueSettings } from './queue-settings.ts'

function refused(settings: Readonly<Record<string, unknown>>): readonly string[] {
  const violations: Violations = []
  checkQueueSettings(violations, 'settings', settings)
  return violations.map(({ field }) => field)
}

describe('the ceilings of a queue', () => {
  const none = defaultQueueSettings.ceilings

  test('are accepted within their limits', () => {
    const runningPerType = { OCR: 1, OMR: 100_000 }
    const rate = { max: 1_000_000, perMs: 86_400_000 }
    const perKey = [{ key: 'customer.id', running: 1, rate }]
    const ceilings = { running: 1, runningPerTenant: 100_000, runningPerType, rate, perKey }
    assert.deepEqual(refused({ ceilings: none }), [])
    assert.deepEqual(refused({ ceilings }), [])
  })

  test.each<[string, unknown]>([
    ['running', 0],
    ['running', undefined],
    ['runningPerTenant', 100_001],
    ['runningPerType', null],
    ['runningPerType', [1]],
    ['runningPerType.OCR', { OCR: null }],
    ['runningPerType: type', { '': 1 }],
    ['rate', 5],
    ['rate', { max: 1 }],
    ['rate.max', { max: 1_000_001, perMs: 100 }],
    ['rate.perMs', { max: 1, perMs: 99 }],
    ['perKey', { key: 'a', running: 1, rate: null }],
    ['perKey[0]', [{ key: 'a', running: 1 }]],
    ['perKey[0].key', [{ key: 'a.*', running: 1, rate: null }]],
    ['perKey[0].running', [{ key: 'a', running: 0, rate: null }]],
    ['perKey[0].rate.max', [{ key: 'a', running: null, rate: { max: 0, perMs: 100 } }]],
  ])('are refused outside them: %s %j', (path, value) => {
    const [key = ''] = path.split(/[.:[]/)
    const fields = refused({ ceilings: { ...none, [key]: value } })
    assert.ok(fields.includes(`settings.ceilings.${path}`), fields.join())
  })

  test('are refused when some are missing, or unknown', () => {
    assert.deepEqual(refused({ ceilings: { running: 1 } }), ['settings.ceilings'])
    assert.deepEqual(refused({ ceilings: { ...none, walking: 1 } }), ['settings.ceilings'])
    assert.deepEqual(refused({ ceilings: null }), ['settings.ceilings'])
  })
})

describe('the switches that a queue obeys', () => {
  test('are lists of names', () => {
    assert.deepEqual(refused({ obeys: { queue: [], types: {} } }), [])
    const types = { OCR: ['LLM_PAUSED', 'n'.repeat(128)] }
    assert.deepEqual(refused({ obeys: { queue: ['ALL'], types } }), [])
  })

  test('are refused in any other form', () => {
    assert.deepEqual(refused({ obeys: ['ALL'] }), ['settings.obeys'])
    assert.deepEqual(refused({ obeys: { queue: 'ALL', types: {} } }), ['settings.obeys.queue'])
    assert.deepEqual(refused({ obeys: { queue: ['', 'a\0'], types: {} } }), [
      'settings.obeys.queue',
      'settings.obeys.queue',
    ])
    const types = { OCR: 'LLM_PAUSED', OMR: ['n'.repeat(129)] }
    assert.deepEqual(refused({ obeys: { queue: [], types } }), [
      'settings.obeys.types.OCR',
      'settings.obeys.types.OMR',
    ])
  })
})

describe('the time for which finished jobs are kept', () => {
  test('has a limit, or none at all', () => {
    assert.deepEqual(refused({ history: { completedMs: null, failedMs: 60_000 } }), [])
    assert.deepEqual(refused({ history: { completedMs: 0, failedMs: null } }), [
      'settings.history.completedMs',
    ])
    assert.deepEqual(refused({ history: null }), ['settings.history'])
  })
})

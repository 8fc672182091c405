import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { alarm } from './alarm-declaration.ts'
import type { App } from './define-app.ts'
import { defineApp } from './define-app.ts'
import { flow } from './flow-declaration.ts'
import { queue } from './queue-declaration.ts'
import { type ResolvedAlarm, resolveAlarms } from './resolve-alarms.ts'
import { resolveQueues } from './resolve-queues.ts'

function resolve(app: App, stage = 'dev'): readonly ResolvedAlarm[] {
  return resolveAlarms({ app, stage, resolved: resolveQueues(app, stage) })
}

function names(app: App, stage = 'dev'): readonly string[] {
  return resolve(app, stage).map(({ rule }) => rule.name)
}

const hook = 'https://example.com/alarms'

const shop = defineApp('shop', {
  queues: {
    orders: queue({ deadLetter: {} }),
    mails: queue({ deadLetter: { queue: 'failed' } }),
    failed: queue({ name: 'all-failed' }),
  },
  flows: { packing: flow({ units: 'orders' }) },
  alarms: [
    alarm.depth('*').above(10),
    alarm.dead('orders').above(5, { name: 'broken orders' }),
    alarm.depth('*').above(50, { name: 'flood' }),
    alarm.overdueFlows('*').above(0),
    alarm.metric('stuck').above(0, { name: 'stuck' }),
    alarm.metric('idle').above(0),
  ],
  alarmActions: [{ webhook: hook }, { queue: 'mails', on: ['ALARM'] }],
})

describe('the alarms of an app', () => {
  test('are one rule for each thing that is meant, under names of the app and stage', () => {
    assert.deepEqual(names(shop, 'prod'), [
      'shop-prod-orders-depth',
      'shop-prod-mails-depth',
      'all-failed-depth',
      'shop-prod-broken orders',
      'shop-prod-orders-flood',
      'shop-prod-mails-flood',
      'all-failed-flood',
      'shop-prod-packing-overdue',
      'shop-prod-stuck',
      'shop-prod-idle',
      'all-failed-not-empty',
    ])
  })

  test('have every default spelled out', () => {
    const [first] = resolve(shop)
    assert.deepEqual(first?.rule, {
      name: 'shop-dev-orders-depth',
      description: null,
      severity: 'warning',
      metric: 'depth',
      of: 'shop-dev-orders',
      statistic: 'maximum',
      periodMs: 60_000,
      evaluationPeriods: 1,
      datapointsToAlarm: 1,
      threshold: 10,
      comparison: 'above',
      missingData: 'missing',
      targets: [
        { kind: 'webhook', target: hook, on: ['ALARM', 'OK'] },
        { kind: 'queue', target: 'shop-dev-mails', on: ['ALARM'] },
      ],
    })
    const rate = defineApp('a', {
      queues: { q: queue() },
      alarms: [alarm.errorRate('q').above(0.5)],
    })
    assert.equal(resolve(rate)[0]?.rule.statistic, 'average')
  })

  test('are on every dead-letter queue without its own alarm, and critical there', () => {
    const byDefault = resolve(shop).filter(({ declared }) => declared === null)
    assert.deepEqual(
      byDefault.map(({ rule }) => [rule.of, rule.severity, rule.threshold, rule.missingData]),
      [['all-failed', 'critical', 0, 'not_breaching']],
    )
    assert.equal(byDefault[0]?.rule.targets.length, 2)
    const critical = resolve(shop).filter(({ rule }) => rule.severity === 'critical')
    assert.deepEqual(
      critical.map(({ rule }) => rule.of),
      ['all-failed', 'shop-dev-orders-dlq', 'all-failed', 'all-failed'],
    )
  })

  test('keep names of their own short and apart', () => {
    const long = 'x'.repeat(255)
    const app = defineApp('a', {
      queues: { q: queue() },
      alarms: [
        alarm.depth('q').above(1),
        alarm.depth('q').above(2),
        alarm.depth('q').above(3, { name: long }),
      ],
    })
    const [one, two, three] = names(app)
    assert.deepEqual([one, two], ['a-dev-q-depth', 'a-dev-q-depth2'])
    assert.equal(three?.length, 250)
  })
})

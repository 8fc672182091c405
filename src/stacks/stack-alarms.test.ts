import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { StackAlarm } from '../templates/stack.ts'
import { stackAlarmRules } from './stack-alarms.ts'

const at = { file: 'template.yaml', line: 1, column: 1 }

const alarm: StackAlarm = {
  logicalId: 'A',
  name: 'orders-not-empty',
  description: 'Look at them.',
  namespace: 'AWS/SQS',
  metric: 'ApproximateNumberOfMessagesVisible',
  queue: 'orders-dlq',
  statistic: 'Sum',
  periodMs: 60_000,
  evaluationPeriods: 3,
  datapointsToAlarm: 2,
  threshold: 0,
  comparison: 'GreaterThanThreshold',
  treatMissingData: 'notBreaching',
  at,
}

const settings = { deadLetter: { queue: 'orders-dlq', maxReceives: 3 } }
const queues = [{ logicalId: 'Q', name: 'orders', settings, tags: {}, at }]

function ruleOf(parts: Partial<StackAlarm>) {
  return stackAlarmRules([{ queues, alarms: [{ ...alarm, ...parts }] }])[0]
}

describe('an alarm of a stack', () => {
  test('is a rule in our words, critical where it watches dead letters', () => {
    assert.deepEqual(ruleOf({}), {
      name: 'orders-not-empty',
      description: 'Look at them.',
      severity: 'critical',
      metric: 'depth',
      of: 'orders-dlq',
      statistic: 'sum',
      periodMs: 60_000,
      evaluationPeriods: 3,
      datapointsToAlarm: 2,
      threshold: 0,
      comparison: 'above',
      missingData: 'not_breaching',
      targets: [],
    })
    assert.equal(ruleOf({ queue: 'orders' })?.severity, 'warning')
    assert.equal(ruleOf({ severity: 'warning' })?.severity, 'warning')
  })

  test('has periods of whole minutes, as the metrics of SQS have', () => {
    assert.equal(ruleOf({ periodMs: 10_000 })?.periodMs, 60_000)
    assert.equal(ruleOf({ periodMs: 90_000 })?.periodMs, 120_000)
  })

  test.each<Partial<StackAlarm>>([
    { metric: 'SentMessageSize' },
    { statistic: 'p99' },
    { comparison: 'GreaterThanUpperThreshold' },
    { treatMissingData: 'unheard' },
    { periodMs: 3_600_000, evaluationPeriods: 25 },
  ])('is left out when it cannot be evaluated: %j', (parts) => {
    assert.equal(ruleOf(parts), undefined)
  })

  test('is one with another of the same name', () => {
    const stack = { queues, alarms: [alarm, { ...alarm, threshold: 5 }] }
    assert.deepEqual(
      stackAlarmRules([stack]).map(({ threshold }) => threshold),
      [5],
    )
  })
})

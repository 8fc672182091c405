import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { notEmptyRule } from '../../contracts/resolve-alarms.ts'
import type { AlarmRule, AlarmTarget } from '../../core/alarm-rule.ts'
import { alarmNotifications } from './alarm-notifications.ts'

const hook: AlarmTarget = {
  kind: 'webhook',
  target: 'https://hooks.example.com/services/a-secret',
  on: ['ALARM', 'OK'],
}
const desk: AlarmTarget = { kind: 'queue', target: 'desk', on: ['ALARM'] }

const rule: AlarmRule = {
  ...notEmptyRule('orders-dlq', { name: 'orders-dlq-not-empty', targets: [hook, desk] }),
  description: 'Orders failed for good.',
}
const change = { reason: 'because', at: Date.UTC(2026, 0, 1) }

describe('those who hear of an alarm', () => {
  test('are told in the words of CloudWatch', () => {
    const record = { rule, state: 'OK', evaluatedAt: 1 } as const
    const [first, second, ...others] = alarmNotifications(record, { ...change, to: 'ALARM' })
    assert.deepEqual(others, [])
    assert.deepEqual([first?.kind, first?.target], [hook.kind, hook.target])
    assert.deepEqual([second?.kind, second?.target], [desk.kind, desk.target])
    assert.equal(first?.body, second?.body)
    assert.deepEqual(JSON.parse(first?.body ?? ''), {
      AlarmName: 'orders-dlq-not-empty',
      AlarmDescription: 'Orders failed for good.',
      Severity: 'critical',
      NewStateValue: 'ALARM',
      NewStateReason: 'because',
      StateChangeTime: '2026-01-01T00:00:00.000Z',
      OldStateValue: 'OK',
      Trigger: {
        MetricName: 'ApproximateNumberOfMessagesVisible',
        Namespace: 'AWS/SQS',
        StatisticType: 'Statistic',
        Statistic: 'MAXIMUM',
        Dimensions: [{ name: 'QueueName', value: 'orders-dlq' }],
        Period: 60,
        EvaluationPeriods: 1,
        DatapointsToAlarm: 1,
        ComparisonOperator: 'GreaterThanThreshold',
        Threshold: 0,
        TreatMissingData: 'notBreaching',
      },
    })
  })

  test('are told of the states that they asked for', () => {
    const record = { rule, state: 'ALARM', evaluatedAt: 1 } as const
    const told = (to: 'OK' | 'ALARM' | 'INSUFFICIENT_DATA'): readonly string[] =>
      alarmNotifications(record, { ...change, to }).map(({ kind }) => kind)
    assert.deepEqual(told('OK'), ['webhook'])
    assert.deepEqual(told('INSUFFICIENT_DATA'), [])
    assert.deepEqual(told('ALARM'), [])
  })

  test('are not told that a new alarm found everything in order', () => {
    const record = { rule, state: 'INSUFFICIENT_DATA', evaluatedAt: null } as const
    assert.deepEqual(alarmNotifications(record, { ...change, to: 'OK' }), [])
    assert.equal(alarmNotifications(record, { ...change, to: 'ALARM' }).length, 2)
  })
})

/**
 * What an alarm can watch, once: the app's word, CloudWatch's name for the same figure, what kind of
 * thing has it, and the default statistic.
 */
import type { AlarmMetricName, AlarmStatistic } from './alarm-rule.ts'
import { queueCounters } from './queue-counters.ts'

export interface AlarmMetricKind {
  readonly namespace: 'AWS/SQS' | 'Millrace'
  readonly name: string
  readonly of: 'queue' | 'flow' | 'value'
  readonly statistic: AlarmStatistic
}

const level = { of: 'queue', statistic: 'maximum' } as const
const count = { of: 'queue', statistic: 'sum' } as const

export const alarmMetrics: Readonly<Record<AlarmMetricName, AlarmMetricKind>> = {
  depth: { namespace: 'AWS/SQS', name: 'ApproximateNumberOfMessagesVisible', ...level },
  in_flight: { namespace: 'AWS/SQS', name: 'ApproximateNumberOfMessagesNotVisible', ...level },
  delayed: { namespace: 'AWS/SQS', name: 'ApproximateNumberOfMessagesDelayed', ...level },
  oldest_age: { namespace: 'AWS/SQS', name: 'ApproximateAgeOfOldestMessage', ...level },
  sent: { namespace: 'AWS/SQS', name: queueCounters.sent.cloudWatch, ...count },
  received: { namespace: 'AWS/SQS', name: queueCounters.received.cloudWatch, ...count },
  deleted: { namespace: 'AWS/SQS', name: queueCounters.acknowledged.cloudWatch, ...count },
  empty_receives: { namespace: 'AWS/SQS', name: queueCounters.emptyReceives.cloudWatch, ...count },
  deduplicated: { namespace: 'AWS/SQS', name: queueCounters.deduplicated.cloudWatch, ...count },
  dead_lettered: { namespace: 'Millrace', name: queueCounters.deadLettered.cloudWatch, ...count },
  expired: { namespace: 'Millrace', name: queueCounters.expired.cloudWatch, ...count },
  error_rate: { namespace: 'Millrace', name: 'ErrorRate', of: 'queue', statistic: 'average' },
  overdue_flows: { namespace: 'Millrace', name: 'OverdueFlows', of: 'flow', statistic: 'maximum' },
  value: { namespace: 'Millrace', name: 'Value', of: 'value', statistic: 'maximum' },
}

export const alarmMetricNames: readonly AlarmMetricName[] = Object.keys(
  alarmMetrics,
) as AlarmMetricName[] // of a record that has exactly these keys

/** The word for a metric of SQS; undefined for one that is not known here. */
export function metricOfSqs(name: string): AlarmMetricName | undefined {
  return alarmMetricNames.find(
    (word) => alarmMetrics[word].namespace === 'AWS/SQS' && alarmMetrics[word].name === name,
  )
}

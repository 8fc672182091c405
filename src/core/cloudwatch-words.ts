/** What CloudWatch calls the parts of an alarm, for templates and notifications. */
import { alarmMetrics } from './alarm-metrics.ts'
import type { AlarmComparison, AlarmRule, AlarmStatistic, MissingData } from './alarm-rule.ts'

export type CloudWatchStatistic = 'Maximum' | 'Minimum' | 'Average' | 'Sum' | 'SampleCount'

export const cloudWatchStatistics: Readonly<Record<AlarmStatistic, CloudWatchStatistic>> = {
  maximum: 'Maximum',
  minimum: 'Minimum',
  average: 'Average',
  sum: 'Sum',
  sample_count: 'SampleCount',
}

export const cloudWatchComparisons: Readonly<Record<AlarmComparison, string>> = {
  above: 'GreaterThanThreshold',
  at_or_above: 'GreaterThanOrEqualToThreshold',
  below: 'LessThanThreshold',
  at_or_below: 'LessThanOrEqualToThreshold',
}

export const cloudWatchMissingData: Readonly<Record<MissingData, string>> = {
  missing: 'missing',
  ignore: 'ignore',
  breaching: 'breaching',
  not_breaching: 'notBreaching',
}

/** Our word for one of CloudWatch's; undefined when there is none. */
export function wordOf<Word extends string>(
  table: Readonly<Record<Word, string>>,
  name: string,
): Word | undefined {
  const words = Object.keys(table) as Word[] // of a record that has exactly these keys
  return words.find((word) => table[word] === name)
}

/** What the figure of a rule is called, and the one dimension that it has. */
export interface CloudWatchMetric {
  readonly namespace: string
  readonly name: string
  readonly dimension: { readonly name: string; readonly value: string } | null
}

export function cloudWatchMetric({
  metric,
  of,
}: Pick<AlarmRule, 'metric' | 'of'>): CloudWatchMetric {
  const kind = alarmMetrics[metric]
  const { namespace, name } = kind
  if (kind.of === 'value') return { namespace, name: of, dimension: null }
  const dimension = { name: kind.of === 'queue' ? 'QueueName' : 'FlowName', value: of }
  return { namespace, name, dimension }
}

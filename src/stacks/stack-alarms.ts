/** The alarms of applied stacks, as rules to evaluate. */

import { alarmSpanMsMax } from '../contracts/check-alarms.ts'
import { metricOfSqs } from '../core/alarm-metrics.ts'
import type { AlarmRule } from '../core/alarm-rule.ts'
import {
  cloudWatchComparisons,
  cloudWatchMissingData,
  cloudWatchStatistics,
  wordOf,
} from '../core/cloudwatch-words.ts'
import { limits } from '../core/limits.ts'
import { minuteMs } from '../core/minutes.ts'
import type { StackAlarm } from '../templates/stack.ts'
import type { RecordedStack } from './recorded-stack.ts'

type AlarmedStack = Pick<RecordedStack, 'queues' | 'alarms'>

/** Leaves out unsupported alarms, such as percentiles. Reading the template has warned of them. */
export function stackAlarmRules(stacks: readonly AlarmedStack[]): readonly AlarmRule[] {
  const deadLetterQueues = new Set(
    stacks.flatMap(({ queues }) =>
      queues.flatMap(({ settings }) => settings.deadLetter?.queue ?? []),
    ),
  )
  const rules = new Map<string, AlarmRule>()
  for (const alarm of stacks.flatMap(({ alarms }) => alarms)) {
    const rule = ruleOf(alarm, deadLetterQueues)
    // As on AWS, a second alarm with the same name replaces the first.
    if (rule !== undefined) rules.set(rule.name, rule)
  }
  return [...rules.values()]
}

function ruleOf(alarm: StackAlarm, deadLetterQueues: ReadonlySet<string>): AlarmRule | undefined {
  const metric = metricOfSqs(alarm.metric)
  const statistic = wordOf(cloudWatchStatistics, alarm.statistic)
  const comparison = wordOf(cloudWatchComparisons, alarm.comparison)
  const missingData = wordOf(cloudWatchMissingData, alarm.treatMissingData)
  if (metric === undefined || statistic === undefined) return undefined
  if (comparison === undefined || missingData === undefined) return undefined
  const { evaluationPeriods, datapointsToAlarm, threshold, queue: of, description } = alarm
  // SQS metrics have one datapoint per minute.
  const periodMs = Math.ceil(alarm.periodMs / minuteMs) * minuteMs
  if (periodMs * evaluationPeriods > alarmSpanMsMax) return undefined
  const isCritical = metric === 'depth' && deadLetterQueues.has(of)
  return {
    name: alarm.name.slice(0, limits.alarmNameLength.max),
    description,
    severity: alarm.severity ?? (isCritical ? 'critical' : 'warning'),
    metric,
    of,
    statistic,
    periodMs,
    evaluationPeriods,
    datapointsToAlarm,
    threshold,
    comparison,
    missingData,
    targets: [],
  }
}

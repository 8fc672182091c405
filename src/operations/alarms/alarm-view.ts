/** Alarms and their history as all surfaces show them. Field names are API. */
import type { AlarmRecord, AlarmTransition } from '../../backends/alarm-store.ts'
import { comparisonWords } from '../../core/alarm-evaluation.ts'
import type { AlarmRule, AlarmTarget } from '../../core/alarm-rule.ts'
import {
  cloudWatchComparisons,
  cloudWatchMetric,
  cloudWatchMissingData,
  cloudWatchStatistics,
} from '../../core/cloudwatch-words.ts'
import { formatDuration } from '../../core/durations.ts'
import { isoTime } from '../../core/iso-time.ts'

/** The condition uses the terms of CloudWatch, as templates and clients do. */
export interface AlarmView {
  readonly name: string
  readonly state: AlarmRecord['state']
  readonly severity: AlarmRule['severity']
  readonly reason: string
  readonly since: string
  /** Null before the first evaluation. */
  readonly evaluated_at: string | null
  readonly owner: string
  readonly description: string | null
  readonly namespace: string
  readonly metric: string
  /** The watched queue, flow or value. */
  readonly of: string
  readonly statistic: string
  readonly period_seconds: number
  readonly evaluation_periods: number
  readonly datapoints_to_alarm: number
  readonly threshold: number
  readonly comparison: string
  readonly treat_missing_data: string
  /** The condition as text. */
  readonly condition: string
  readonly actions: readonly AlarmActionView[]
}

export interface AlarmActionView {
  readonly kind: AlarmTarget['kind']
  /** The name of a queue, or the origin of a webhook. The path of a webhook is often a secret. */
  readonly target: string
  readonly on: AlarmTarget['on']
}

export interface AlarmTransitionView
  extends Pick<AlarmTransition, 'alarm' | 'from' | 'to' | 'reason'> {
  readonly at: string
}

export function alarmView({ rule, ...record }: AlarmRecord): AlarmView {
  const { namespace, name: metric } = cloudWatchMetric(rule)
  return {
    name: record.alarm,
    state: record.state,
    severity: rule.severity,
    reason: record.reason,
    since: isoTime(record.since),
    evaluated_at: isoTime(record.evaluatedAt),
    owner: record.owner,
    description: rule.description,
    namespace,
    metric,
    of: rule.of,
    statistic: cloudWatchStatistics[rule.statistic],
    period_seconds: rule.periodMs / 1_000,
    evaluation_periods: rule.evaluationPeriods,
    datapoints_to_alarm: rule.datapointsToAlarm,
    threshold: rule.threshold,
    comparison: cloudWatchComparisons[rule.comparison],
    treat_missing_data: cloudWatchMissingData[rule.missingData],
    condition: conditionOf(rule),
    actions: rule.targets.map(actionView),
  }
}

export function alarmTransitionView(shown: AlarmTransition): AlarmTransitionView {
  const { alarm, from, to, reason, at } = shown
  return { alarm, from, to, reason, at: isoTime(at) }
}

/** `depth above 100, 5 of 5 periods of 1m`. */
function conditionOf(rule: AlarmRule): string {
  const { metric, comparison, threshold, evaluationPeriods, datapointsToAlarm, periodMs } = rule
  const figure = `${metric.replaceAll('_', ' ')} ${comparisonWords[comparison]} ${threshold}`
  const period = formatDuration(periodMs)
  if (evaluationPeriods === 1) return `${figure} for ${period}`
  return `${figure}, ${datapointsToAlarm} of ${evaluationPeriods} periods of ${period}`
}

function actionView({ kind, target, on }: AlarmTarget): AlarmActionView {
  return { kind, target: kind === 'webhook' ? new URL(target).origin : target, on }
}

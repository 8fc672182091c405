/** The notifications of a state change, in the form that CloudWatch sends to SNS. */
import type { AlarmRecord, NewNotification } from '../../backends/alarm-store.ts'
import type { AlarmRule, AlarmState } from '../../core/alarm-rule.ts'
import {
  cloudWatchComparisons,
  cloudWatchMetric,
  cloudWatchMissingData,
  cloudWatchStatistics,
} from '../../core/cloudwatch-words.ts'
import { isoTime } from '../../core/iso-time.ts'

export interface AlarmChange {
  readonly to: AlarmState
  readonly reason: string
  readonly at: number
}

export function alarmNotifications(
  { rule, state, evaluatedAt }: Pick<AlarmRecord, 'rule' | 'state' | 'evaluatedAt'>,
  change: AlarmChange,
): readonly NewNotification[] {
  const { to } = change
  // A new alarm in OK sends no notification.
  if (to === state || (evaluatedAt === null && to === 'OK')) return []
  const told = rule.targets.filter(({ on }) => on.includes(to))
  if (told.length === 0) return []
  const body = JSON.stringify(bodyOf(rule, state, change))
  return told.map(({ kind, target }) => ({ kind, target, body }))
}

function bodyOf(rule: AlarmRule, from: AlarmState, { to, reason, at }: AlarmChange): object {
  const { namespace, name, dimension } = cloudWatchMetric(rule)
  return {
    AlarmName: rule.name,
    AlarmDescription: rule.description,
    Severity: rule.severity,
    NewStateValue: to,
    NewStateReason: reason,
    StateChangeTime: isoTime(at),
    OldStateValue: from,
    Trigger: {
      MetricName: name,
      Namespace: namespace,
      StatisticType: 'Statistic',
      Statistic: cloudWatchStatistics[rule.statistic].toUpperCase(),
      Dimensions: dimension === null ? [] : [dimension],
      Period: rule.periodMs / 1_000,
      EvaluationPeriods: rule.evaluationPeriods,
      DatapointsToAlarm: rule.datapointsToAlarm,
      ComparisonOperator: cloudWatchComparisons[rule.comparison],
      Threshold: rule.threshold,
      TreatMissingData: cloudWatchMissingData[rule.missingData],
    },
  }
}

/** A state change of an alarm. */
import type { AlarmRecord, AlarmTransition } from '../../backends/alarm-store.ts'
import type { AlarmSeverity, AlarmState } from '../../core/alarm-rule.ts'
import { cloudWatchMetric } from '../../core/cloudwatch-words.ts'

export interface AlarmChange {
  readonly alarm: string
  readonly state: AlarmState
  readonly was: AlarmState
  readonly severity: AlarmSeverity
  /** The name of the metric in CloudWatch. */
  readonly metric: string
  /** The watched queue, flow or value, by its name in the store. */
  readonly of: string
  readonly threshold: number
  readonly reason: string
}

export function alarmChange(
  { rule }: Pick<AlarmRecord, 'rule'>,
  { alarm, from: was, to: state, reason }: AlarmTransition,
): AlarmChange {
  const { severity, of, threshold } = rule
  const { name: metric } = cloudWatchMetric(rule)
  return { alarm, state, was, severity, metric, of, threshold, reason }
}

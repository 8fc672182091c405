/**
 * An alarm as it is stored and evaluated: a figure of a queue, a flow or an app, a
 * statistic of it over a period, a threshold, and how many of the latest periods must be beyond it.
 */

export type AlarmState = 'OK' | 'ALARM' | 'INSUFFICIENT_DATA'

export const alarmStates: readonly AlarmState[] = ['OK', 'ALARM', 'INSUFFICIENT_DATA']

/** What an alarm can watch; `alarm-metrics.ts` says what each of them is. */
export type AlarmMetricName =
  | 'depth'
  | 'in_flight'
  | 'delayed'
  | 'oldest_age'
  | 'sent'
  | 'received'
  | 'deleted'
  | 'empty_receives'
  | 'deduplicated'
  | 'dead_lettered'
  | 'expired'
  | 'error_rate'
  | 'overdue_flows'
  | 'value'

export type AlarmSeverity = 'warning' | 'critical'

export const alarmSeverities: readonly AlarmSeverity[] = ['warning', 'critical']

export type AlarmStatistic = 'maximum' | 'minimum' | 'average' | 'sum' | 'sample_count'

export const alarmStatistics: readonly AlarmStatistic[] = [
  'maximum',
  'minimum',
  'average',
  'sum',
  'sample_count',
]

export type AlarmComparison = 'above' | 'at_or_above' | 'below' | 'at_or_below'

export const alarmComparisons: readonly AlarmComparison[] = [
  'above',
  'at_or_above',
  'below',
  'at_or_below',
]

/** What a period without data counts as. */
export type MissingData = 'missing' | 'ignore' | 'breaching' | 'not_breaching'

export const missingDataRules: readonly MissingData[] = [
  'missing',
  'ignore',
  'breaching',
  'not_breaching',
]

/** What decides the state, once there is a number for each period. */
export interface AlarmCondition {
  readonly threshold: number
  readonly comparison: AlarmComparison
  /** How many of the latest periods are looked at. */
  readonly evaluationPeriods: number
  /** How many of them must be beyond the threshold. */
  readonly datapointsToAlarm: number
  readonly missingData: MissingData
}

/** Where changes of state are notified, and which. */
export interface AlarmTarget {
  readonly kind: 'webhook' | 'queue'
  /** The URL, or the queue's name in the store. */
  readonly target: string
  readonly on: readonly AlarmState[]
}

export interface AlarmRule extends AlarmCondition {
  /** Unique in the store. */
  readonly name: string
  readonly description: string | null
  readonly severity: AlarmSeverity
  readonly metric: AlarmMetricName
  /** The name in the store of the queue or flow that is watched, or the name of the app's own value. */
  readonly of: string
  readonly statistic: AlarmStatistic
  /** Whole minutes. */
  readonly periodMs: number
  readonly targets: readonly AlarmTarget[]
}

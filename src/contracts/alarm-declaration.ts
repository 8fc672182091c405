/**
 * An app's alarms, in CloudWatch's terms: a metric, a statistic over a period, a threshold, and how many of
 * the latest periods must breach it. `alarm.dead('*').above(10)` declares the most common alarm.
 */
import type {
  AlarmComparison,
  AlarmMetricName,
  AlarmSeverity,
  AlarmState,
  AlarmStatistic,
  MissingData,
} from '../core/alarm-rule.ts'
import { type Duration, durationMs } from '../core/durations.ts'

export type { AlarmComparison, AlarmSeverity, AlarmState, AlarmStatistic, MissingData }

/** Metrics of a queue. `dead_letters` is the depth of its dead-letter queue. */
export type QueueAlarmMetric = 'dead_letters' | Exclude<AlarmMetricName, 'overdue_flows' | 'value'>

export type AlarmMetric = QueueAlarmMetric | 'overdue_flows' | 'value'

/** What an alarm does when its state changes. Each change is also logged. */
export type AlarmAction =
  /** POSTs the change to a URL, at least once. */
  | { readonly webhook: string; readonly on?: readonly AlarmState[] }
  /** Sends the change to the app's queue with this key. */
  | { readonly queue: string; readonly on?: readonly AlarmState[] }

export interface AlarmOptions {
  /** Default: built from the queue and the metric. */
  readonly name?: string
  readonly description?: string
  /** Default: `'critical'` for dead letters, `'warning'` for all other metrics. */
  readonly severity?: AlarmSeverity
  /** Default: the maximum for levels, the sum for counts, the average for error rates. */
  readonly statistic?: AlarmStatistic
  /** Whole minutes. Default 1m. */
  readonly period?: Duration
  /** How many of the latest periods to evaluate. Default 1. */
  readonly evaluationPeriods?: number
  /** How many of the evaluated periods must breach the threshold. Default: all. */
  readonly datapointsToAlarm?: number
  /** Default `'missing'`. */
  readonly missingData?: MissingData
  /** Run on `ALARM` and `OK`, unless an action sets `on`. Default: the app's `alarmActions`. */
  readonly actions?: readonly AlarmAction[]
}

interface AlarmLimit extends AlarmOptions {
  readonly comparison: AlarmComparison
  /** A number of messages, an age in seconds, or a rate from 0 to 1. */
  readonly threshold: number
}

export interface QueueAlarm extends AlarmLimit {
  readonly metric: QueueAlarmMetric
  /** The key of a queue, or `'*'` for one alarm per queue. */
  readonly queue: string
  readonly flow?: never
  readonly value?: never
}

export interface FlowAlarm extends AlarmLimit {
  readonly metric: 'overdue_flows'
  /** The key of a flow or chain, or `'*'` for one alarm per flow and chain. */
  readonly flow: string
  readonly queue?: never
  readonly value?: never
}

export interface ValueAlarm extends AlarmLimit {
  readonly metric: 'value'
  /** The name given to `mill.metrics.put`. */
  readonly value: string
  readonly queue?: never
  readonly flow?: never
}

export type Alarm = QueueAlarm | FlowAlarm | ValueAlarm

export interface AlarmedMetric<
  Declared extends Alarm = QueueAlarm,
  Threshold extends number | Duration = number,
> {
  above(threshold: Threshold, options?: AlarmOptions): Declared
  atOrAbove(threshold: Threshold, options?: AlarmOptions): Declared
  below(threshold: Threshold, options?: AlarmOptions): Declared
  atOrBelow(threshold: Threshold, options?: AlarmOptions): Declared
}

/**
 * The metrics that an alarm can watch. Name a queue or flow by its key; `'*'` declares one alarm for each.
 */
export interface AlarmBuilders {
  /** Messages in the queue's dead-letter queue. */
  dead(queue: string): AlarmedMetric
  /** Messages that are ready to be received. */
  depth(queue: string): AlarmedMetric
  /** Messages under a lease. */
  inFlight(queue: string): AlarmedMetric
  /** Messages whose delay has not ended. */
  delayed(queue: string): AlarmedMetric
  /** Age of the oldest message: a duration, or a number of seconds. 0 if the queue is empty. */
  oldestAge(queue: string): AlarmedMetric<QueueAlarm, number | Duration>
  /** Failed attempts divided by all attempts, 0 to 1. A period without attempts has no data. */
  errorRate(queue: string): AlarmedMetric
  /** Messages sent in the period. */
  sent(queue: string): AlarmedMetric
  /** Messages received in the period; each receive counts. */
  received(queue: string): AlarmedMetric
  /** Messages acknowledged in the period. */
  deleted(queue: string): AlarmedMetric
  /** Receives in the period that returned no message. */
  emptyReceives(queue: string): AlarmedMetric
  /** Messages dead-lettered in the period. */
  deadLettered(queue: string): AlarmedMetric
  /** Messages whose retention ended in the period. */
  expired(queue: string): AlarmedMetric
  /** Open flows that are past their deadline. */
  overdueFlows(flow: string): AlarmedMetric<FlowAlarm>
  /** A value that the app sets with `mill.metrics.put`. */
  metric(name: string): AlarmedMetric<ValueAlarm>
}

/** Declares an alarm: `alarm.depth('*').above(1000)`. */
export const alarm: AlarmBuilders = {
  dead: (queue) => alarmed({ metric: 'dead_letters', queue }),
  depth: (queue) => alarmed({ metric: 'depth', queue }),
  inFlight: (queue) => alarmed({ metric: 'in_flight', queue }),
  delayed: (queue) => alarmed({ metric: 'delayed', queue }),
  oldestAge: (queue) => alarmed({ metric: 'oldest_age', queue }),
  errorRate: (queue) => alarmed({ metric: 'error_rate', queue }),
  sent: (queue) => alarmed({ metric: 'sent', queue }),
  received: (queue) => alarmed({ metric: 'received', queue }),
  deleted: (queue) => alarmed({ metric: 'deleted', queue }),
  emptyReceives: (queue) => alarmed({ metric: 'empty_receives', queue }),
  deadLettered: (queue) => alarmed({ metric: 'dead_lettered', queue }),
  expired: (queue) => alarmed({ metric: 'expired', queue }),
  overdueFlows: (flow) => alarmed({ metric: 'overdue_flows', flow }),
  metric: (name) => alarmed({ metric: 'value', value: name }),
}

type Subject<Declared extends Alarm> = Pick<Declared, 'metric' | 'queue' | 'flow' | 'value'>

function alarmed<Declared extends Alarm>(
  subject: Subject<Declared>,
): AlarmedMetric<Declared, number | Duration> {
  const declare =
    (comparison: AlarmComparison) =>
    (given: number | Duration, options: AlarmOptions = {}): Declared => {
      const threshold = typeof given === 'number' ? given : durationMs(given, 'threshold') / 1_000
      // The compiler cannot see that the subject selects the member of the union.
      return { ...options, ...subject, comparison, threshold } as unknown as Declared
    }
  return {
    above: declare('above'),
    atOrAbove: declare('at_or_above'),
    below: declare('below'),
    atOrBelow: declare('at_or_below'),
  }
}

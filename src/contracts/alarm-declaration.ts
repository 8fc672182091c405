/**
 * Alarms as part of an app, in CloudWatch's words: a metric, a statistic over a period, a threshold,
 * and how many of the latest periods must be beyond it. `dead('*').above(10)` writes the usual ones.
 */
import type {
  AlarmComparison,
  AlarmMetricName,
  AlarmSeverity,
  AlarmState,
  AlarmStatistic,
  MissingData,
} from '../core/alarm-rule.ts'
import type { Duration } from '../core/durations.ts'

export type { AlarmComparison, AlarmSeverity, AlarmState, AlarmStatistic, MissingData }

/** What is known of a queue. `dead_letters` is the depth of its dead-letter queue. */
export type QueueAlarmMetric = 'dead_letters' | Exclude<AlarmMetricName, 'overdue_flows' | 'value'>

export type AlarmMetric = QueueAlarmMetric | 'overdue_flows' | 'value'

/** What is to happen when the state changes. A line in the log is written in any case. */
export type AlarmAction =
  /** POSTs the change to an address, at least once. */
  | { readonly webhook: string; readonly on?: readonly AlarmState[] }
  /** Sends the change to a queue of the app, by its key. */
  | { readonly queue: string; readonly on?: readonly AlarmState[] }

export interface AlarmOptions {
  /** Default: made of the queue and the metric. */
  readonly name?: string
  readonly description?: string
  /** Default `'critical'` for dead letters, `'warning'` for anything else. */
  readonly severity?: AlarmSeverity
  /** Default: the maximum of a level, the sum of a count, and the average of an error rate. */
  readonly statistic?: AlarmStatistic
  /** Whole minutes. Default 1m. */
  readonly period?: Duration
  /** How many of the latest periods are looked at. Default 1. */
  readonly evaluationPeriods?: number
  /** How many of them must be beyond the threshold. Default all. */
  readonly datapointsToAlarm?: number
  /** Default `'missing'`. */
  readonly missingData?: MissingData
  /**
   * Told of `ALARM` and `OK`, unless they say `on` what else. Default: the `alarmActions` of the app.
   */
  readonly actions?: readonly AlarmAction[]
}

interface AlarmLimit extends AlarmOptions {
  readonly comparison: AlarmComparison
  /** Messages, seconds for an age, a part of 1 for a rate. */
  readonly threshold: number
}

export interface QueueAlarm extends AlarmLimit {
  readonly metric: QueueAlarmMetric
  /** The key of a queue, or `'*'` for one alarm on each. */
  readonly queue: string
  readonly flow?: never
  readonly value?: never
}

export interface FlowAlarm extends AlarmLimit {
  readonly metric: 'overdue_flows'
  /** The key of a flow or chain, or `'*'` for one alarm on each. */
  readonly flow: string
  readonly queue?: never
  readonly value?: never
}

export interface ValueAlarm extends AlarmLimit {
  readonly metric: 'value'
  /** The name under which the app sets the value. */
  readonly value: string
  readonly queue?: never
  readonly flow?: never
}

export type Alarm = QueueAlarm | FlowAlarm | ValueAlarm

export interface AlarmedMetric<Declared extends Alarm = QueueAlarm> {
  above(threshold: number, options?: AlarmOptions): Declared
  atOrAbove(threshold: number, options?: AlarmOptions): Declared
  below(threshold: number, options?: AlarmOptions): Declared
  atOrBelow(threshold: number, options?: AlarmOptions): Declared
}

/** Messages in the queue's dead-letter queue. */
export function dead(queue: string): AlarmedMetric {
  return alarmed({ metric: 'dead_letters', queue })
}

/** Messages that wait in the queue and could be received. */
export function depth(queue: string): AlarmedMetric {
  return alarmed({ metric: 'depth', queue })
}

/** Messages in the hands of receivers. */
export function inFlight(queue: string): AlarmedMetric {
  return alarmed({ metric: 'in_flight', queue })
}

/** Messages whose delay has not ended. */
export function delayed(queue: string): AlarmedMetric {
  return alarmed({ metric: 'delayed', queue })
}

/** Age of the oldest message, in seconds; 0 when the queue is empty. */
export function oldestAge(queue: string): AlarmedMetric {
  return alarmed({ metric: 'oldest_age', queue })
}

/** The part of all attempts that failed, 0 to 1. A period without attempts has no data. */
export function errorRate(queue: string): AlarmedMetric {
  return alarmed({ metric: 'error_rate', queue })
}

/** Messages that were sent in the period. */
export function sent(queue: string): AlarmedMetric {
  return alarmed({ metric: 'sent', queue })
}

/** Messages that were received in the period, each time anew. */
export function received(queue: string): AlarmedMetric {
  return alarmed({ metric: 'received', queue })
}

/** Messages that were acknowledged in the period. */
export function deleted(queue: string): AlarmedMetric {
  return alarmed({ metric: 'deleted', queue })
}

/** Receives in the period that found nothing. */
export function emptyReceives(queue: string): AlarmedMetric {
  return alarmed({ metric: 'empty_receives', queue })
}

/** Messages of the queue that became dead letters in the period. */
export function deadLettered(queue: string): AlarmedMetric {
  return alarmed({ metric: 'dead_lettered', queue })
}

/** Messages whose retention ended in the period. */
export function expired(queue: string): AlarmedMetric {
  return alarmed({ metric: 'expired', queue })
}

/** Open flows that are past their deadline. */
export function overdueFlows(flow: string): AlarmedMetric<FlowAlarm> {
  return alarmed({ metric: 'overdue_flows', flow })
}

/** A value of the app's own, as it sets it with `mill.metrics.put`. */
export function metric(name: string): AlarmedMetric<ValueAlarm> {
  return alarmed({ metric: 'value', value: name })
}

type Subject<Declared extends Alarm> = Pick<Declared, 'metric' | 'queue' | 'flow' | 'value'>

function alarmed<Declared extends Alarm>(subject: Subject<Declared>): AlarmedMetric<Declared> {
  const declare =
    (comparison: AlarmComparison) =>
    (threshold: number, options: AlarmOptions = {}): Declared =>
      // The subject decides which of the alarms it is; the compiler does not see that it is whole.
      ({ ...options, ...subject, comparison, threshold }) as unknown as Declared
  return {
    above: declare('above'),
    atOrAbove: declare('at_or_above'),
    below: declare('below'),
    atOrBelow: declare('at_or_below'),
  }
}

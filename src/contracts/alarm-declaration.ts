/**
 * Alarms as part of an app, in CloudWatch's words: a metric, a statistic over a period, a threshold,
 * and how many of the latest periods must exceed it. `dead('*').above(10)` writes the usual ones.
 */
import type { Duration } from '../core/durations.ts'

export type AlarmMetric = 'dead_letters' | 'depth' | 'oldest_age' | 'error_rate'

export type AlarmStatistic = 'maximum' | 'minimum' | 'average' | 'sum'

/** What a period without data counts as. */
export type MissingData = 'missing' | 'ignore' | 'breaching' | 'not_breaching'

export interface Alarm extends AlarmOptions {
  readonly metric: AlarmMetric
  /** The key of a queue, or `'*'` for one alarm on each. */
  readonly queue: string
  readonly comparison: 'above' | 'below'
  /** Messages, seconds for an age, a part of 1 for a rate. */
  readonly threshold: number
}

export interface AlarmOptions {
  readonly name?: string
  /** Default: the maximum, and the average of an error rate. */
  readonly statistic?: AlarmStatistic
  /** Default 1m. */
  readonly period?: Duration
  /** How many of the latest periods are looked at. Default 1. */
  readonly evaluationPeriods?: number
  /** How many of them must be beyond the threshold. Default all. */
  readonly datapointsToAlarm?: number
  /** Default `'missing'`. */
  readonly missingData?: MissingData
}

export interface AlarmedMetric {
  above(threshold: number, options?: AlarmOptions): Alarm
  below(threshold: number, options?: AlarmOptions): Alarm
}

/** Messages in the queue's dead-letter queue. */
export function dead(queue: string): AlarmedMetric {
  return alarmed('dead_letters', queue)
}

/** Messages that wait in the queue. */
export function depth(queue: string): AlarmedMetric {
  return alarmed('depth', queue)
}

/** Age of the message that has waited longest, in seconds. */
export function oldestAge(queue: string): AlarmedMetric {
  return alarmed('oldest_age', queue)
}

/** The part of all attempts that failed, 0 to 1. */
export function errorRate(queue: string): AlarmedMetric {
  return alarmed('error_rate', queue)
}

function alarmed(metric: AlarmMetric, queue: string): AlarmedMetric {
  return {
    above: (threshold, options = {}) => ({
      ...options,
      metric,
      queue,
      comparison: 'above',
      threshold,
    }),
    below: (threshold, options = {}) => ({
      ...options,
      metric,
      queue,
      comparison: 'below',
      threshold,
    }),
  }
}

/**
 * The metrics of a minute of a queue, by CloudWatch's names: each as samples, from which statistics over
 * any number of minutes are computed. Metrics that SQS does not have get names of the same style.
 */
import {
  noCounts,
  type QueueCounter,
  queueCounterNames,
  queueCounters,
} from '../core/queue-counters.ts'
import type { HandlerFigures, QueueMinute } from './metric-store.ts'

export const metricStatistics = ['Sum', 'Average', 'Minimum', 'Maximum', 'SampleCount'] as const

export type MetricStatistic = (typeof metricStatistics)[number]

/** The samples of one minute: their number, sum and extremes. */
export interface Sample {
  readonly count: number
  readonly sum: number
  /** Null where only the longest is known. */
  readonly min: number | null
  readonly max: number
}

export interface MetricKind {
  readonly unit: 'Count' | 'Seconds' | 'Milliseconds' | 'None'
  /** The default statistic. */
  readonly statistic: MetricStatistic
  /** Undefined when the minute has no data for it. */
  readonly sample: (minute: QueueMinute) => Sample | undefined
}

const level = (read: (minute: QueueMinute) => number): MetricKind => ({
  unit: 'Count',
  statistic: 'Maximum',
  sample: (minute) => single(read(minute)),
})

const attempts = (read: (handlers: HandlerFigures) => number): MetricKind => ({
  unit: 'Count',
  statistic: 'Sum',
  sample: ({ handlers }) => (handlers === null ? undefined : single(read(handlers))),
})

const durations = (which: 'runs' | 'waits'): MetricKind => ({
  unit: 'Milliseconds',
  statistic: 'Average',
  sample: ({ handlers }) => {
    const { count = 0, msSum = 0, msMax = 0 } = handlers?.[which] ?? {}
    return count === 0 ? undefined : { count, sum: msSum, min: null, max: msMax }
  },
})

type LevelMetric =
  | 'ApproximateNumberOfMessagesVisible'
  | 'ApproximateNumberOfMessagesNotVisible'
  | 'ApproximateNumberOfMessagesDelayed'
  | 'ApproximateAgeOfOldestMessage'

const levelMetrics: Readonly<Record<LevelMetric, MetricKind>> = {
  ApproximateNumberOfMessagesVisible: level(({ ready }) => ready),
  ApproximateNumberOfMessagesNotVisible: level(({ leased }) => leased),
  ApproximateNumberOfMessagesDelayed: level(({ delayed }) => delayed),
  ApproximateAgeOfOldestMessage: {
    unit: 'Seconds',
    statistic: 'Maximum',
    sample: ({ oldestAgeMs }) => single(Math.floor((oldestAgeMs ?? 0) / 1_000)),
  },
}

type HandlerMetric =
  | 'ErrorRate'
  | 'HandlerInvocations'
  | 'HandlerErrors'
  | 'HandlerDuration'
  | 'HandlerWait'

const handlerMetrics: Readonly<Record<HandlerMetric, MetricKind>> = {
  ErrorRate: { unit: 'None', statistic: 'Average', sample: errorRate },
  HandlerInvocations: attempts(({ ended }) => ended),
  HandlerErrors: attempts(({ failed }) => failed),
  HandlerDuration: durations('runs'),
  HandlerWait: durations('waits'),
}

type CounterMetric = (typeof queueCounters)[QueueCounter]['cloudWatch']

export type QueueMetric = LevelMetric | CounterMetric | HandlerMetric

export const queueMetrics: Readonly<Record<QueueMetric, MetricKind>> = {
  ...levelMetrics,
  ...counterMetrics(),
  ...handlerMetrics,
}

export const queueMetricNames: readonly QueueMetric[] = Object.keys(queueMetrics) as QueueMetric[]

function counterMetrics(): Readonly<Record<CounterMetric, MetricKind>> {
  const metrics = queueCounterNames.map((name): [string, MetricKind] => [
    queueCounters[name].cloudWatch,
    { unit: 'Count', statistic: 'Sum', sample: (minute) => single(minute[name]) },
  ])
  return Object.fromEntries(metrics) as Record<CounterMetric, MetricKind>
}

/** Every attempt is a sample, so that the average is the rate over the whole period. */
function errorRate({ failedAttempts, acknowledged }: QueueMinute): Sample | undefined {
  const count = failedAttempts + acknowledged
  if (count === 0) return undefined
  const rate = failedAttempts / count
  return { count, sum: failedAttempts, min: rate, max: rate }
}

function single(value: number): Sample {
  return { count: 1, sum: value, min: value, max: value }
}

/** Of two minutes, or spans of them. */
export function together(one: Sample, other: Sample): Sample {
  return {
    count: one.count + other.count,
    sum: one.sum + other.sum,
    min: one.min === null || other.min === null ? null : Math.min(one.min, other.min),
    max: Math.max(one.max, other.max),
  }
}

export function statisticOf(
  { count, sum, min, max }: Sample,
  statistic: MetricStatistic,
): number | null {
  switch (statistic) {
    case 'Sum':
      return sum
    case 'Average':
      return sum / count
    case 'Minimum':
      return min
    case 'Maximum':
      return max
    case 'SampleCount':
      return count
  }
}

/** Of a queue that is empty and in which nothing happens. */
export const quietMinute: Omit<QueueMinute, 'minute'> = {
  ...noCounts,
  ready: 0,
  leased: 0,
  delayed: 0,
  oldestReadyAgeMs: null,
  oldestAgeMs: null,
  handlers: null,
}

/**
 * What a minute of a queue says, in CloudWatch's words: each metric as samples, from which statistics
 * over any number of minutes come. Metrics that SQS does not have are named in its manner.
 */
import type { HandlerFigures, QueueMinute } from './metric-store.ts'

export const metricStatistics = ['Sum', 'Average', 'Minimum', 'Maximum', 'SampleCount'] as const

export type MetricStatistic = (typeof metricStatistics)[number]

/** What one minute contributes: so many samples with this sum and these extremes. */
export interface Sample {
  readonly count: number
  readonly sum: number
  /** Null where only the longest is known. */
  readonly min: number | null
  readonly max: number
}

export interface MetricKind {
  readonly unit: 'Count' | 'Seconds' | 'Milliseconds' | 'None'
  /** The statistic that is meant when none is named. */
  readonly statistic: MetricStatistic
  /** Undefined when the minute says nothing about it. */
  readonly sample: (minute: QueueMinute) => Sample | undefined
}

const count = (read: (minute: QueueMinute) => number): MetricKind => ({
  unit: 'Count',
  statistic: 'Sum',
  sample: (minute) => single(read(minute)),
})

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

export const queueMetricNames = [
  'ApproximateNumberOfMessagesVisible',
  'ApproximateNumberOfMessagesNotVisible',
  'ApproximateNumberOfMessagesDelayed',
  'ApproximateAgeOfOldestMessage',
  'NumberOfMessagesSent',
  'NumberOfMessagesReceived',
  'NumberOfMessagesDeleted',
  'NumberOfEmptyReceives',
  'NumberOfDeduplicatedSentMessages',
  'NumberOfMessagesDeadLettered',
  'NumberOfMessagesExpired',
  'NumberOfMessagesRedriven',
  'NumberOfFailedAttempts',
  'ErrorRate',
  'HandlerInvocations',
  'HandlerErrors',
  'HandlerDuration',
  'HandlerWait',
] as const

export type QueueMetric = (typeof queueMetricNames)[number]

export const queueMetrics: Readonly<Record<QueueMetric, MetricKind>> = {
  ApproximateNumberOfMessagesVisible: level(({ ready }) => ready),
  ApproximateNumberOfMessagesNotVisible: level(({ leased }) => leased),
  ApproximateNumberOfMessagesDelayed: level(({ delayed }) => delayed),
  ApproximateAgeOfOldestMessage: {
    unit: 'Seconds',
    statistic: 'Maximum',
    sample: ({ oldestAgeMs }) => single(Math.floor((oldestAgeMs ?? 0) / 1_000)),
  },
  NumberOfMessagesSent: count(({ sent }) => sent),
  NumberOfMessagesReceived: count(({ received }) => received),
  NumberOfMessagesDeleted: count(({ acknowledged }) => acknowledged),
  NumberOfEmptyReceives: count(({ emptyReceives }) => emptyReceives),
  NumberOfDeduplicatedSentMessages: count(({ deduplicated }) => deduplicated),
  NumberOfMessagesDeadLettered: count(({ deadLettered }) => deadLettered),
  NumberOfMessagesExpired: count(({ expired }) => expired),
  NumberOfMessagesRedriven: count(({ redriven }) => redriven),
  NumberOfFailedAttempts: count(({ failedAttempts }) => failedAttempts),
  ErrorRate: { unit: 'None', statistic: 'Average', sample: errorRate },
  HandlerInvocations: attempts(({ ended }) => ended),
  HandlerErrors: attempts(({ failed }) => failed),
  HandlerDuration: durations('runs'),
  HandlerWait: durations('waits'),
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
  sent: 0,
  received: 0,
  acknowledged: 0,
  deduplicated: 0,
  deadLettered: 0,
  expired: 0,
  emptyReceives: 0,
  failedAttempts: 0,
  redriven: 0,
  ready: 0,
  leased: 0,
  delayed: 0,
  oldestReadyAgeMs: null,
  oldestAgeMs: null,
  handlers: null,
}

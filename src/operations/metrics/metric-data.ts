/** Metrics of a queue in the form of CloudWatch: a metric, a statistic, a period, and the values. */
import type { QueueMinute } from '../../backends/metric-store.ts'
import {
  type MetricKind,
  type MetricStatistic,
  type QueueMetric,
  queueMetrics,
  type Sample,
  statisticOf,
  together,
} from '../../backends/queue-metrics.ts'
import { minuteMs } from '../../core/minutes.ts'

export {
  type MetricStatistic,
  metricStatistics,
  type QueueMetric,
  queueMetricNames,
} from '../../backends/queue-metrics.ts'

export interface MetricSeries {
  readonly metric: QueueMetric
  readonly statistic: MetricStatistic
  readonly unit: MetricKind['unit']
  readonly periodMs: number
  /** Start times of the periods with data, oldest first. */
  readonly timestamps: readonly number[]
  readonly values: readonly number[]
}

export interface SeriesRequest {
  readonly metric: QueueMetric
  /** Default: sum for counts, maximum for levels, average for durations. */
  readonly statistic?: MetricStatistic | undefined
  /** Whole minutes. Default: one. */
  readonly periodMs?: number | undefined
}

/** Periods are aligned with the clock: a period of an hour begins at the full hour. */
export function metricSeries(
  minutes: readonly QueueMinute[],
  { metric, statistic = queueMetrics[metric].statistic, periodMs = minuteMs }: SeriesRequest,
): MetricSeries {
  const periods = new Map<number, Sample>()
  for (const minute of minutes) {
    const sample = queueMetrics[metric].sample(minute)
    if (sample === undefined) continue
    const at = Math.floor(minute.minute / periodMs) * periodMs
    const before = periods.get(at)
    periods.set(at, before === undefined ? sample : together(before, sample))
  }
  const points = [...periods].flatMap(([at, sample]) => {
    const value = statisticOf(sample, statistic)
    return value === null ? [] : [{ at, value }]
  })
  return {
    metric,
    statistic,
    unit: queueMetrics[metric].unit,
    periodMs,
    timestamps: points.map(({ at }) => at),
    values: points.map(({ value }) => value),
  }
}

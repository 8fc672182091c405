/** Metrics as all surfaces show them. Field names are API. */
import type { LatestValue, QueueMinute } from '../../backends/metric-store.ts'
import { isoTime } from '../../core/iso-time.ts'
import { type QueueCounter, queueCounterNames } from '../../core/queue-counters.ts'
import { type SnakeCase, snakeCase } from '../../core/snake-case.ts'
import type { MetricSeries } from './metric-data.ts'

/** Like the response of CloudWatch to GetMetricData: two arrays of times and values, oldest first. */
export interface MetricDataView {
  readonly queue: string
  readonly metric_data_results: readonly {
    readonly label: string
    readonly statistic: string
    readonly unit: string
    /** In seconds. */
    readonly period: number
    readonly timestamps: readonly string[]
    readonly values: readonly number[]
  }[]
}

export function metricDataView(queue: string, series: readonly MetricSeries[]): MetricDataView {
  return {
    queue,
    metric_data_results: series.map(
      ({ metric, statistic, unit, periodMs, timestamps, values }) => ({
        label: metric,
        statistic,
        unit,
        period: periodMs / 1_000,
        timestamps: timestamps.map((at) => isoTime(at)),
        values,
      }),
    ),
  }
}

export interface LatestValueView extends Omit<LatestValue, 'at'> {
  readonly at: string
}

export function latestValueView({ name, value, at, count, sum }: LatestValue): LatestValueView {
  return { name, value, at: isoTime(at), count, sum }
}

/** One field per counter, in snake case. */
export type CountsView = { readonly [Counter in QueueCounter as SnakeCase<Counter>]: number }

export interface MinuteView extends CountsView {
  readonly minute: string
  readonly visible: number
  readonly in_flight: number
  readonly delayed: number
  readonly oldest_age_ms: number | null
  /** Null if no handler has ended. */
  readonly handlers: {
    readonly ended: number
    readonly failed: number
    readonly duration_ms_average: number
    readonly duration_ms_max: number
  } | null
}

export function minuteView(minute: QueueMinute): MinuteView {
  return {
    minute: isoTime(minute.minute),
    ...countsView(minute),
    visible: minute.ready,
    in_flight: minute.leased,
    delayed: minute.delayed,
    oldest_age_ms: minute.oldestAgeMs,
    handlers: handlersView(minute.handlers),
  }
}

function countsView(minute: QueueMinute): CountsView {
  const fields = queueCounterNames.map((name) => [snakeCase(name), minute[name]])
  return Object.fromEntries(fields) as CountsView
}

function handlersView(handlers: QueueMinute['handlers']): MinuteView['handlers'] {
  if (handlers === null) return null
  const { ended, failed, runs } = handlers
  const duration_ms_average = runs.count === 0 ? 0 : runs.msSum / runs.count
  return { ended, failed, duration_ms_average, duration_ms_max: runs.msMax }
}

/** Metrics of queues, minute by minute, and an app's own values. */

import type { QueueMinute, ValueMinute } from '../../backends/metric-store.ts'
import { type NamedQueue, type NameScope, valueName } from '../../contracts/resolve-names.ts'
import { type Duration, durationMs } from '../../core/durations.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { minuteMs, minuteOf } from '../../core/minutes.ts'
import { type OptionNames, refuseUnknownOptions } from '../../core/options.ts'
import type { Clock } from '../../core/ports.ts'
import { supported } from '../../core/supported.ts'
import {
  type MetricSources,
  type PrometheusOptions,
  prometheusMetrics,
} from '../prometheus/prometheus-metrics.ts'
import { prometheusText } from '../prometheus/prometheus-text.ts'

/** A span of time: the last so many minutes, or from one time to another. */
export type MetricSpan =
  | { readonly last?: Duration; readonly from?: never; readonly to?: never }
  | { readonly from: Date; readonly to?: Date; readonly last?: never }

export interface MetricReader {
  /**
   * Minutes of a queue, oldest first, without minutes in which nothing happened and nothing waited. Use the
   * key of the queue in the app, or its name in the store. Default: the last hour.
   */
  minutes(queue: string, span?: MetricSpan): Promise<readonly QueueMinute[]>
  /** All metrics of the store in the text format of Prometheus. */
  prometheus(options?: PrometheusOptions): Promise<string>
}

export interface Metrics extends MetricReader {
  /** Records a value under a name of your choice. Alarms can watch it. */
  put(name: string, value: number): Promise<void>
  /** Values recorded under a name, per minute. Default: the last hour. */
  values(name: string, span?: MetricSpan): Promise<readonly ValueMinute[]>
}

export interface MetricReaderSetup {
  readonly backend: MetricSources
  readonly clock: Pick<Clock, 'now'>
  /** Queues that can be named by their keys. */
  readonly queues?: readonly NamedQueue[]
}

export interface MetricsSetup extends MetricReaderSetup {
  readonly scope: NameScope
}

const prometheusOptions: OptionNames<PrometheusOptions> = { perQueue: true }
const spanOptions: OptionNames<MetricSpan> = { last: true, from: true, to: true }

const defaultSpan: Duration = '1h'

export function createMetricReader(setup: MetricReaderSetup): MetricReader {
  const { backend, clock, queues = [] } = setup
  const nameOf = (queue: string): string => queues.find(({ key }) => key === queue)?.name ?? queue
  return {
    minutes: async (queue, span) =>
      supported(backend.metrics).minutes({ queue: nameOf(queue), ...spanOf(span, clock) }),
    prometheus: async (options = {}) => {
      refuseUnknownOptions(options, prometheusOptions)
      return prometheusText(await prometheusMetrics(backend, options))
    },
  }
}

export function createMetrics(setup: MetricsSetup): Metrics {
  const { backend, clock, scope } = setup
  return {
    ...createMetricReader(setup),
    put: async (name, value) =>
      supported(backend.metrics).report({
        queues: [],
        values: [{ name: valueName(name, scope), value }],
      }),
    values: async (name, span) =>
      supported(backend.metrics).values({ name: valueName(name, scope), ...spanOf(span, clock) }),
  }
}

/** The latest possible date. The store's clock may be ahead of this one. */
const end = 8_640_000_000_000_000

/** The first and the last millisecond of the span. */
function spanOf(
  span: MetricSpan = {},
  clock: Pick<Clock, 'now'>,
): { readonly from: number; readonly to: number } {
  refuseUnknownOptions(span, spanOptions)
  const { last = defaultSpan, from, to } = span
  if (from !== undefined) {
    return { from: momentOf('from', from), to: to === undefined ? end : momentOf('to', to) }
  }
  // The current minute has no metrics yet, so it is not one of the last minutes.
  const lastMs = Math.max(minuteMs, durationMs(last, 'last'))
  return { from: Math.max(0, minuteOf(clock.now() - lastMs)), to: end }
}

function momentOf(field: string, date: Date): number {
  const ms = date instanceof Date ? date.getTime() : Number.NaN
  if (!Number.isNaN(ms)) return ms
  throw MillraceError.invalid([{ field, given: 'an invalid date', allowed: 'a date' }])
}

/** How queues fared, minute by minute, and values of an app's own beside them. */

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

/** A span of time: how far back from now, or from when to when. */
export type MetricSpan =
  | { readonly last?: Duration; readonly from?: never; readonly to?: never }
  | { readonly from: Date; readonly to?: Date; readonly last?: never }

export interface MetricReader {
  /**
   * Minutes of a queue, oldest first; a minute in which nothing happened and nothing waited is not
   * among them. A queue goes by its key in the app, or by its name in the store, as do dead-letter
   * queues. Default: the last hour.
   */
  minutes(queue: string, span?: MetricSpan): Promise<readonly QueueMinute[]>
  /** All that Prometheus may want to know about the store, in its text format. */
  prometheus(options?: PrometheusOptions): Promise<string>
}

export interface Metrics extends MetricReader {
  /** Notes a value under a name of the app's own, on which it can have an alarm. */
  put(name: string, value: number): Promise<void>
  /** What was noted under a name, by the minute. Default: the last hour. */
  values(name: string, span?: MetricSpan): Promise<readonly ValueMinute[]>
}

export interface MetricReaderSetup {
  readonly backend: MetricSources
  readonly clock: Pick<Clock, 'now'>
  /** Those that can be called by their keys. */
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

/** As far as a date goes. The store's clock may be ahead of this one. */
const end = 8_640_000_000_000_000

/** The first and the last millisecond that count. */
function spanOf(
  span: MetricSpan = {},
  clock: Pick<Clock, 'now'>,
): { readonly from: number; readonly to: number } {
  refuseUnknownOptions(span, spanOptions)
  const { last = defaultSpan, from, to } = span
  if (from !== undefined) {
    return { from: momentOf('from', from), to: to === undefined ? end : momentOf('to', to) }
  }
  // Of the minute that runs nothing is known yet, so it does not count as one of the last.
  const lastMs = Math.max(minuteMs, durationMs(last, 'last'))
  return { from: Math.max(0, minuteOf(clock.now() - lastMs)), to: end }
}

function momentOf(field: string, date: Date): number {
  const ms = date instanceof Date ? date.getTime() : Number.NaN
  if (!Number.isNaN(ms)) return ms
  throw MillraceError.invalid([{ field, given: 'something else', allowed: 'a date' }])
}

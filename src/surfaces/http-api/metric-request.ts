/** Reads a request for the metrics of a queue, with the terms of CloudWatch. */
import { checkOneOf, checkRange, describeGiven, type Violations } from '../../core/checks.ts'
import type { Range } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import {
  type MetricStatistic,
  metricStatistics,
  type QueueMetric,
  queueMetricNames,
  type SeriesRequest,
} from '../../operations/metrics/metric-data.ts'
import type { MetricSpan } from '../../operations/metrics/metrics.ts'
import { type Query, readQuery } from './read-query.ts'
import { readTime } from './read-time.ts'

export interface MetricRequest {
  readonly span: MetricSpan
  readonly series: readonly SeriesRequest[]
}

/** In seconds, as in CloudWatch. */
export const periods: Range = { min: 60, max: 86_400, unit: 'seconds' }

export function readMetricRequest(query: Query): MetricRequest {
  const value = readQuery(query, ['from', 'to', 'period', 'metric', 'statistic'])
  const violations: Violations = []
  const span = readSpan(violations, value('from'), value('to'))
  const periodMs = readPeriod(violations, value('period'))
  const statistic = readOneOf(violations, 'statistic', value('statistic'), metricStatistics)
  const metric = readOneOf<QueueMetric>(violations, 'metric', value('metric'), queueMetricNames)
  if (violations.length > 0) throw MillraceError.invalid(violations)
  const wanted = metric === undefined ? queueMetricNames : [metric]
  return { span, series: wanted.map((one) => ({ metric: one, statistic, periodMs })) }
}

function readSpan(into: Violations, from: string | undefined, to: string | undefined): MetricSpan {
  if (from === undefined) {
    if (to !== undefined)
      into.push({ field: 'from', given: 'none', allowed: "a time, because 'to' is given" })
    return {}
  }
  const start = readTime(into, 'from', from)
  return to === undefined ? { from: start } : { from: start, to: readTime(into, 'to', to) }
}

function readPeriod(into: Violations, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const seconds = Number(text)
  checkRange(into, 'period', seconds, periods)
  if (seconds % periods.min !== 0) {
    into.push({ field: 'period', given: describeGiven(text), allowed: 'a multiple of 60 seconds' })
  }
  return seconds * 1_000
}

function readOneOf<Word extends MetricStatistic | QueueMetric>(
  into: Violations,
  field: string,
  text: string | undefined,
  words: readonly Word[],
): Word | undefined {
  if (text === undefined) return undefined
  checkOneOf(into, field, text, words)
  return words.find((word) => word === text)
}

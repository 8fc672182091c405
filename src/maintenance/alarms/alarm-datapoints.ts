/**
 * The datapoints of a rule: one per period, from the minutes in the store. Windows slide: they end with the
 * last complete minute, for any length of the period.
 */
import type { Backend } from '../../backends/backend.ts'
import type { MetricStore, QueueMinute } from '../../backends/metric-store.ts'
import {
  queueMetricNames,
  queueMetrics,
  quietMinute,
  type Sample,
  statisticOf,
  together,
} from '../../backends/queue-metrics.ts'
import { type Datapoint, evaluationRange } from '../../core/alarm-evaluation.ts'
import { alarmMetrics } from '../../core/alarm-metrics.ts'
import type { AlarmRule } from '../../core/alarm-rule.ts'
import { cloudWatchStatistics } from '../../core/cloudwatch-words.ts'
import { minuteMs, minuteOf } from '../../core/minutes.ts'

export interface DatapointSources {
  readonly backend: Pick<Backend, 'readQueue'>
  readonly metrics: MetricStore
}

type Samples = ReadonlyMap<number, Sample>

/** @param end the end of the last evaluated minute */
export async function alarmDatapoints(
  sources: DatapointSources,
  rule: AlarmRule,
  end: number,
): Promise<readonly Datapoint[]> {
  const count = evaluationRange(rule)
  const from = end - count * rule.periodMs
  const samples = await samplesOf(sources, rule, { from, to: end - minuteMs })
  return Array.from({ length: count }, (_, index) => {
    const at = from + index * rule.periodMs
    return { at, value: datapoint(samples, rule, at) }
  })
}

interface Span {
  /** The first and the last minute, inclusive. */
  readonly from: number
  readonly to: number
}

/** The name under which the alarm watch records the number of overdue flows. */
export function overdueValueName(flow: string): string {
  return `overdue flows of ${flow}`
}

async function samplesOf(sources: DatapointSources, rule: AlarmRule, span: Span): Promise<Samples> {
  const { metric, of } = rule
  if (metric !== 'value' && metric !== 'overdue_flows') return queueSamples(sources, rule, span)
  const name = metric === 'value' ? of : overdueValueName(of)
  const minutes = await sources.metrics.values({ name, ...span })
  return new Map(minutes.map(({ minute, ...sample }) => [minute, sample]))
}

async function queueSamples(
  { backend, metrics }: DatapointSources,
  { metric, of: queue }: AlarmRule,
  span: Span,
): Promise<Samples> {
  const { createdAt } = await backend.readQueue({ queue })
  const minutes = await metrics.minutes({ queue, ...span, withLatestBefore: true })
  const begins = Math.max(span.from, minuteOf(createdAt))
  const name = queueMetricNames.find((one) => one === alarmMetrics[metric].name)
  const samples = new Map<number, Sample>()
  for (const minute of withQuietMinutes(minutes, { ...span, from: begins })) {
    const sample = name === undefined ? undefined : queueMetrics[name].sample(minute)
    if (sample !== undefined) samples.set(minute.minute, sample)
  }
  return samples
}

/**
 * An idle, empty queue has no recorded minutes, so a missing minute counts as empty. Only after a minute with
 * messages does a missing minute mean that no process was running.
 */
function withQuietMinutes(
  minutes: readonly QueueMinute[],
  { from, to }: Span,
): readonly QueueMinute[] {
  const written = new Map(minutes.map((minute) => [minute.minute, minute]))
  const last = minutes.at(-1)?.minute ?? Number.NEGATIVE_INFINITY
  const all: QueueMinute[] = []
  let before = minutes.find(({ minute }) => minute < from)
  for (let minute = from; minute <= to; minute += minuteMs) {
    const found = written.get(minute)
    if (found !== undefined) all.push(found)
    else if (minute > last || isEmpty(before)) all.push({ ...quietMinute, minute })
    before = found ?? before
  }
  return all
}

function isEmpty(minute: QueueMinute | undefined): boolean {
  return minute === undefined || minute.ready + minute.leased + minute.delayed === 0
}

function datapoint(
  samples: Samples,
  { statistic, periodMs }: AlarmRule,
  at: number,
): number | null {
  let all: Sample | undefined
  for (let minute = at; minute < at + periodMs; minute += minuteMs) {
    const sample = samples.get(minute)
    if (sample !== undefined) all = all === undefined ? sample : together(all, sample)
  }
  return all === undefined ? null : statisticOf(all, cloudWatchStatistics[statistic])
}

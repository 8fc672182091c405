/**
 * The metrics of a store for Prometheus: queues, handlers, flows, inboxes, alarms and schedules. Counters are
 * kept in the store, so they continue after a restart.
 */

import type { Backend } from '../../backends/backend.ts'
import type { QueueSnapshot } from '../../backends/metric-store.ts'
import { limits } from '../../core/limits.ts'
import { supported } from '../../core/supported.ts'
import { everyPage } from '../every-page.ts'
import { latestValues } from '../metrics/latest-values.ts'
import { handlerFamilies, queueFamilies } from './prometheus-queues.ts'
import type { MetricFamily, MetricSample } from './prometheus-text.ts'
import { sumOfSnapshots } from './sum-of-snapshots.ts'

export interface PrometheusOptions {
  /** Series for every queue. Default: with more than 200 queues, one series for all together. */
  readonly perQueue?: boolean
}

/** The parts of a backend with metrics. */
export type MetricSources = Pick<Backend, 'metrics' | 'flows' | 'inboxes' | 'alarms' | 'schedules'>

/** Each queue has more than fifty series, and Prometheus stores them all. */
export const queuesMax = 200

/** Queues per read. Between two reads, other work gets a turn. */
const pageSize = 200

export async function prometheusMetrics(
  backend: MetricSources,
  { perQueue = false }: PrometheusOptions = {},
): Promise<readonly MetricFamily[]> {
  const store = supported(backend.metrics)
  const queues = await everyPage((page) => store.snapshot({ ...page, limit: pageSize }))
  const together = !perQueue && queues.length > queuesMax
  const shown = together
    ? [{ labels: {}, snapshot: sumOfSnapshots(queues) }]
    : queues.map((snapshot) => ({ labels: { queue: snapshot.queue }, snapshot }))
  const others = await Promise.all([
    flowFamilies(backend),
    inboxFamilies(backend, queues),
    alarmFamilies(backend),
    scheduleFamilies(backend),
    valueFamilies(backend),
  ])
  const count = gauge('millrace_queues', 'Number of queues in the store.', [value(queues.length)])
  return [count, ...queueFamilies(shown), ...handlerFamilies(shown), ...others.flat()]
}

async function flowFamilies({ flows }: MetricSources): Promise<readonly MetricFamily[]> {
  if (flows === null) return []
  const counts = await flows.counts()
  return [
    gauge(
      'millrace_flows_open',
      'Flows that have not ended.',
      counts.map(({ flow, open }) => value(open, { flow })),
    ),
    gauge(
      'millrace_flows_overdue',
      'Open flows past their deadline.',
      counts.map(({ flow, overdue }) => value(overdue, { flow })),
    ),
  ]
}

/** An inbox is a queue in which people have claimed or noted messages. */
async function inboxFamilies(
  { inboxes }: MetricSources,
  queues: readonly QueueSnapshot[],
): Promise<readonly MetricFamily[]> {
  if (inboxes === null) return []
  const used = await inboxes.used()
  const known = queues.filter(({ queue }) => used.some((inbox) => inbox.queue === queue))
  return [
    gauge(
      'millrace_inbox_waiting',
      'Messages that wait for a person to claim them.',
      known.map(({ queue, ready }) => value(ready, { queue })),
    ),
    gauge(
      'millrace_inbox_oldest_age_seconds',
      'Age of the oldest message that waits for a person; 0 if none waits.',
      known.map(({ queue, oldestReadyAgeMs }) => value((oldestReadyAgeMs ?? 0) / 1_000, { queue })),
    ),
  ]
}

async function alarmFamilies({ alarms }: MetricSources): Promise<readonly MetricFamily[]> {
  if (alarms === null) return []
  const records = await alarms.alarmStates({ prefix: '' })
  const samples = ['OK', 'ALARM', 'INSUFFICIENT_DATA'].map((state) =>
    value(records.filter((record) => record.state === state).length, { state }),
  )
  return [gauge('millrace_alarms', 'Alarms by state.', samples)]
}

async function scheduleFamilies({ schedules }: MetricSources): Promise<readonly MetricFamily[]> {
  if (schedules === null) return []
  // Those that are set at run time may be a million.
  const { items: records } = await schedules.list({ isDeclared: true, limit: limits.pageSize.max })
  const paused = records.filter(({ pausedAt }) => pausedAt !== null).length
  const states = [
    value(records.length - paused, { state: 'active' }),
    value(paused, { state: 'paused' }),
  ]
  const ticks = (help: string, name: string, read: (record: (typeof records)[number]) => number) =>
    counter(
      name,
      help,
      records.map((record) => value(read(record), { schedule: record.schedule })),
    )
  return [
    gauge('millrace_schedules', 'Declared schedules by state.', states),
    ticks('Ticks that sent a message.', 'millrace_schedule_ticks_total', (one) => one.ticks),
    ticks(
      'Ticks that were missed and skipped.',
      'millrace_schedule_ticks_skipped_total',
      (one) => one.skipped,
    ),
    ticks(
      'Ticks that were abandoned because their message could not be created.',
      'millrace_schedule_ticks_failed_total',
      (one) => one.failed,
    ),
  ]
}

/** Values that apps and their janitors recorded. The store limits the number of names. */
async function valueFamilies(backend: MetricSources): Promise<readonly MetricFamily[]> {
  const values = await latestValues(backend)
  const summed = values.flatMap(({ name, sum, count }) => [
    { suffix: '_sum', labels: { name }, value: sum },
    { suffix: '_count', labels: { name }, value: count },
  ])
  return [
    gauge(
      'millrace_value',
      'Latest value recorded under a name.',
      values.map((one) => value(one.value, { name: one.name })),
    ),
    gauge(
      'millrace_value_timestamp_seconds',
      'Time at which the latest value was recorded.',
      values.map(({ name, at }) => value(at / 1_000, { name })),
    ),
    {
      name: 'millrace_values',
      help: 'Sum and count of all values recorded under a name.',
      type: 'summary',
      samples: summed,
    },
  ]
}

function value(number: number, labels: MetricSample['labels'] = {}): MetricSample {
  return { labels, value: number }
}

function gauge(name: string, help: string, samples: readonly MetricSample[]): MetricFamily {
  return { name, help, type: 'gauge', samples }
}

function counter(name: string, help: string, samples: readonly MetricSample[]): MetricFamily {
  return { name, help, type: 'counter', samples }
}

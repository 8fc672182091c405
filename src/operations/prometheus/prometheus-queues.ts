/** The families of Prometheus' metrics that every queue has, as data: one line for each. */
import type { QueueSnapshot } from '../../backends/metric-store.ts'
import { durationBounds } from '../../core/duration-buckets.ts'
import { type AttemptEnding, attemptEndings } from '../../core/handler-figures.ts'
import {
  histogramSamples,
  type Labels,
  type MetricFamily,
  type MetricSample,
} from './prometheus-text.ts'

/** A queue, or all of them together, then without a label. */
export interface ShownQueue {
  readonly labels: Labels
  readonly snapshot: Omit<QueueSnapshot, 'queue'>
}

type Read = (snapshot: ShownQueue['snapshot']) => number

const counters: readonly (readonly [name: string, help: string, read: Read])[] = [
  ['messages_sent', 'Messages that were sent.', ({ sent }) => sent],
  ['messages_received', 'Messages that were handed out.', ({ received }) => received],
  ['messages_deleted', 'Messages that were acknowledged.', ({ acknowledged }) => acknowledged],
  ['messages_deduplicated', 'Sends that met a duplicate.', ({ deduplicated }) => deduplicated],
  [
    'messages_dead_lettered',
    'Messages that went to the dead-letter queue.',
    ({ deadLettered }) => deadLettered,
  ],
  ['messages_expired', 'Messages whose retention ended.', ({ expired }) => expired],
  ['receives_empty', 'Receives that found nothing.', ({ emptyReceives }) => emptyReceives],
  [
    'attempts_failed',
    'Deliveries that were retried, buried, or lost with their lease.',
    ({ failedAttempts }) => failedAttempts,
  ],
  ['redrive_moved', 'Messages that move tasks took out.', ({ redriven }) => redriven],
]

const states: readonly (readonly [state: string, read: Read])[] = [
  ['visible', ({ ready }) => ready],
  ['in_flight', ({ leased }) => leased],
  ['delayed', ({ delayed }) => delayed],
]

export function queueFamilies(shown: readonly ShownQueue[]): readonly MetricFamily[] {
  return [
    {
      name: 'millrace_queue_messages',
      help: 'Messages of a queue by their state.',
      type: 'gauge',
      samples: shown.flatMap(({ labels, snapshot }) =>
        states.map(([state, read]) => ({ labels: { ...labels, state }, value: read(snapshot) })),
      ),
    },
    {
      name: 'millrace_queue_oldest_message_age_seconds',
      help: 'Age of the oldest message as SQS counts it; 0 when there is none.',
      type: 'gauge',
      samples: shown.map(({ labels, snapshot: { oldestAgeMs } }) => ({
        labels,
        value: (oldestAgeMs ?? 0) / 1_000,
      })),
    },
    ...counters.map(
      ([name, help, read]): MetricFamily => ({
        name: `millrace_${name}_total`,
        help,
        type: 'counter',
        samples: shown.map(({ labels, snapshot }) => ({ labels, value: read(snapshot) })),
      }),
    ),
  ]
}

/** After these the work is not tried again by itself. */
const finalEndings: readonly AttemptEnding[] = ['completed', 'failed', 'cancelled', 'refused']

export function handlerFamilies(shown: readonly ShownQueue[]): readonly MetricFamily[] {
  return [
    {
      name: 'millrace_jobs_finished_total',
      help: 'Jobs and messages that workers are done with, by what became of them.',
      type: 'counter',
      samples: endingSamples(shown, finalEndings),
    },
    {
      name: 'millrace_job_attempts_total',
      help: 'Attempts of workers that ended, by how they ended.',
      type: 'counter',
      samples: endingSamples(shown, attemptEndings),
    },
    {
      name: 'millrace_job_run_seconds',
      help: 'How long attempts took.',
      type: 'histogram',
      samples: durationSamples(shown, 'runs'),
    },
    {
      name: 'millrace_job_wait_seconds',
      help: 'How long work waited from sending to its first attempt, its delay included.',
      type: 'histogram',
      samples: durationSamples(shown, 'waits'),
    },
  ]
}

function endingSamples(
  shown: readonly ShownQueue[],
  endings: readonly AttemptEnding[],
): readonly MetricSample[] {
  return shown.flatMap(({ labels, snapshot: { handlers } }) =>
    handlers === null
      ? []
      : endings.map((outcome) => ({
          labels: { ...labels, outcome },
          value: handlers.endings[outcome],
        })),
  )
}

function durationSamples(
  shown: readonly ShownQueue[],
  which: 'runs' | 'waits',
): readonly MetricSample[] {
  return shown.flatMap(({ labels, snapshot: { handlers } }) => {
    if (handlers === null) return []
    const { buckets, msSum } = handlers[which]
    return histogramSamples(labels, { bounds: durationBounds, buckets, sum: msSum / 1_000 })
  })
}

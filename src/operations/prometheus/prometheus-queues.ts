/** The metric families of queues, as data. */
import type { QueueSnapshot } from '../../backends/metric-store.ts'
import { durationBounds } from '../../core/duration-buckets.ts'
import { type AttemptEnding, attemptEndings } from '../../core/handler-figures.ts'
import { queueCounterNames, queueCounters } from '../../core/queue-counters.ts'
import {
  histogramSamples,
  type Labels,
  type MetricFamily,
  type MetricSample,
} from './prometheus-text.ts'

/** A queue, or all queues together, without a label. */
export interface ShownQueue {
  readonly labels: Labels
  readonly snapshot: Omit<QueueSnapshot, 'queue'>
}

type Read = (snapshot: ShownQueue['snapshot']) => number

const states: readonly (readonly [state: string, read: Read])[] = [
  ['visible', ({ ready }) => ready],
  ['in_flight', ({ leased }) => leased],
  ['delayed', ({ delayed }) => delayed],
]

export function queueFamilies(shown: readonly ShownQueue[]): readonly MetricFamily[] {
  return [
    {
      name: 'millrace_queue_messages',
      help: 'Messages of a queue by state.',
      type: 'gauge',
      samples: shown.flatMap(({ labels, snapshot }) =>
        states.map(([state, read]) => ({ labels: { ...labels, state }, value: read(snapshot) })),
      ),
    },
    {
      name: 'millrace_queue_oldest_message_age_seconds',
      help: 'Age of the oldest message, as defined by SQS; 0 if there is none.',
      type: 'gauge',
      samples: shown.map(({ labels, snapshot: { oldestAgeMs } }) => ({
        labels,
        value: (oldestAgeMs ?? 0) / 1_000,
      })),
    },
    ...queueCounterNames.map((counter): MetricFamily => {
      const { prometheus, help } = queueCounters[counter]
      return {
        name: `millrace_${prometheus}_total`,
        help,
        type: 'counter',
        samples: shown.map(({ labels, snapshot }) => ({ labels, value: snapshot[counter] })),
      }
    }),
  ]
}

/** After these, the work is not retried automatically. */
const finalEndings: readonly AttemptEnding[] = ['completed', 'failed', 'cancelled', 'refused']

export function handlerFamilies(shown: readonly ShownQueue[]): readonly MetricFamily[] {
  return [
    {
      name: 'millrace_jobs_finished_total',
      help: 'Jobs and messages that workers finished, by outcome.',
      type: 'counter',
      samples: endingSamples(shown, finalEndings),
    },
    {
      name: 'millrace_job_attempts_total',
      help: 'Ended attempts of workers, by outcome.',
      type: 'counter',
      samples: endingSamples(shown, attemptEndings),
    },
    {
      name: 'millrace_job_run_seconds',
      help: 'Duration of attempts.',
      type: 'histogram',
      samples: durationSamples(shown, 'runs'),
    },
    {
      name: 'millrace_job_wait_seconds',
      help: 'Time from sending to the first attempt, including the delay.',
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

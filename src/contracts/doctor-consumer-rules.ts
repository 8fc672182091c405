/** The doctor's rules about functions that queues invoke, as on Lambda. */
import { formatDuration } from '../core/durations.ts'
import type { DoctorRule, Observation } from './doctor-rule.ts'
import type {
  ConsumerFacts,
  ExaminedConsumer,
  ExaminedFacts,
  QueueFacts,
} from './examined-facts.ts'

type Look = DoctorRule['look']

interface Fed {
  readonly consumer: ExaminedConsumer
  readonly queue: QueueFacts
}

/** A rule that checks one consumer with its queue. */
function eachConsumer(look: (fed: Fed) => Omit<Observation, 'subject'> | undefined): Look {
  return ({ consumers }: ExaminedFacts) =>
    consumers.flatMap(({ consumer, queue, place }) => {
      const found = queue === undefined ? undefined : look({ consumer, queue })
      return found === undefined ? [] : [{ subject: consumer.name, ...found, ...place }]
    })
}

/** A rule that checks a function with all of its queues. */
function eachFunction(
  look: (sources: readonly ConsumerFacts[]) => Omit<Observation, 'subject'> | undefined,
): Look {
  return ({ consumers }: ExaminedFacts) => {
    const byName = Map.groupBy(consumers, ({ consumer }) => consumer.name)
    return [...byName].flatMap(([subject, sources]) => {
      const found = look(sources)
      return found === undefined ? [] : [{ subject, ...found, ...sources[0]?.place }]
    })
  }
}

/** The most messages of one receive. Larger batches need a batching window. */
const receiveMax = 10

export const consumerRules: readonly DoctorRule[] = [
  {
    name: 'visibility-below-timeout',
    severity: 'error',
    finds: 'a function that may run longer than its queue hides the message',
    look: eachConsumer(({ consumer: { timeoutMs }, queue }) => {
      const { visibilityMs } = queue.settings
      if (visibilityMs >= timeoutMs) return undefined
      return {
        reason: `It may run for ${formatDuration(timeoutMs)}, and '${queue.name}' hides a message for ${formatDuration(visibilityMs)}. AWS refuses that: the message would be delivered again while the function still handles it.`,
        fix: `Set the visibility timeout of '${queue.name}' to ${formatDuration(timeoutMs * 6)}, six times the function's.`,
      }
    }),
  },
  {
    name: 'batch-needs-window',
    severity: 'error',
    finds: 'a batch size above 10 without a batching window',
    look: eachConsumer(({ consumer: { batchSize, batchingWindowMs }, queue }) => {
      if (queue.settings.type === 'fifo' || batchSize <= receiveMax) return undefined
      if (batchingWindowMs >= 1_000) return undefined
      return {
        reason: `A batch of ${batchSize} takes several receives, which need a batching window. AWS refuses it without one.`,
        fix: `Set a batching window of at least 1s, or lower the batch size to at most ${receiveMax}.`,
      }
    }),
  },
  {
    name: 'fifo-batch-size',
    severity: 'error',
    finds: 'a batch size above 10 on a FIFO queue',
    look: eachConsumer(({ consumer: { batchSize }, queue }) => {
      if (queue.settings.type !== 'fifo' || batchSize <= receiveMax) return undefined
      return {
        reason: `'${queue.name}' is a FIFO queue; AWS refuses batches of more than ${receiveMax} from it.`,
        fix: `Set the batch size to at most ${receiveMax}.`,
      }
    }),
  },
  {
    name: 'fifo-window',
    severity: 'error',
    finds: 'a batching window on a FIFO queue',
    look: eachConsumer(({ consumer: { batchingWindowMs }, queue }) => {
      if (queue.settings.type !== 'fifo' || batchingWindowMs === 0) return undefined
      return {
        reason: `'${queue.name}' is a FIFO queue; AWS refuses a batching window on it.`,
        fix: 'Remove the batching window.',
      }
    }),
  },
  {
    name: 'visibility-below-six-timeouts',
    severity: 'warning',
    finds:
      'a visibility timeout below six times the timeout of the functionplus its batching window',
    look: eachConsumer(({ consumer: { timeoutMs, batchingWindowMs }, queue }) => {
      const { visibilityMs } = queue.settings
      const advisedMs = timeoutMs * 6 + batchingWindowMs
      if (visibilityMs < timeoutMs || visibilityMs >= advisedMs) return undefined
      const window =
        batchingWindowMs === 0
          ? ''
          : ` and collects messages for ${formatDuration(batchingWindowMs)}`
      return {
        reason: `It may run for ${formatDuration(timeoutMs)}${window}; '${queue.name}' hides a message for ${formatDuration(visibilityMs)}. After a throttled call there is no time left to retry before the message is visible again.`,
        fix: `Set the visibility timeout of '${queue.name}' to ${formatDuration(advisedMs)}, or shorten the timeout of the function.`,
      }
    }),
  },
  {
    name: 'whole-batch-fails',
    severity: 'warning',
    finds: 'a function that takes several messages and cannot report which of them failed',
    look: eachConsumer(({ consumer: { batchSize, reportsBatchItemFailures }, queue }) => {
      if (batchSize <= 1 || reportsBatchItemFailures) return undefined
      const order = queue.settings.type === 'fifo' ? ', and their groups wait' : ''
      return {
        reason: `It takes up to ${batchSize} messages, and one failure fails them all: finished messages are handled again, and each uses up a receive${order}.`,
        fix: 'Report batch item failures (ReportBatchItemFailures) and return { batchItemFailures }.',
      }
    }),
  },
  {
    name: 'concurrency-above-reserved',
    severity: 'warning',
    finds: 'queues that may run more invocations of a function than its reserved concurrency',
    look: eachFunction((sources) => {
      const reserved = reservedFor(sources)
      const limits = sources.map(({ consumer }) => consumer.maximumConcurrency)
      if (reserved === null || reserved === 0 || limits.includes(null)) return undefined
      const wanted = limits.reduce<number>((sum, limit) => sum + (limit ?? 0), 0)
      if (wanted <= reserved) return undefined
      return {
        reason: `Its queues may run ${wanted} invocations at once, but its reserved concurrency is ${reserved}. Throttled messages use up receives without being handled.`,
        fix: `Raise the reserved concurrency to at least ${wanted}, or lower the maximum concurrency of its queues.`,
      }
    }),
  },
  {
    name: 'reserved-without-maximum',
    severity: 'warning',
    finds: 'reserved concurrency on a function whose queue has no maximum concurrency',
    look: eachFunction((sources) => {
      const reserved = reservedFor(sources)
      const open = sources.filter(({ consumer }) => consumer.maximumConcurrency === null)
      if (reserved === null || reserved === 0 || open.length === 0) return undefined
      if (open.every(({ queue }) => queue?.settings.type === 'fifo')) return undefined
      const names = open.map(({ consumer }) => `'${consumer.queue}'`).join(', ')
      return {
        reason: `Its reserved concurrency is ${reserved}, but Lambda ignores that when it reads ${names}: it starts with five batches and scales to a thousand. Throttled messages use up receives without being handled.`,
        fix: `Set a maximum concurrency on the event source, 2 to ${Math.max(2, reserved)}.`,
      }
    }),
  },
  {
    name: 'never-runs',
    severity: 'warning',
    finds: 'a function whose reserved concurrency is 0: it never runs',
    look: eachFunction((sources) => {
      if (reservedFor(sources) !== 0) return undefined
      return {
        reason:
          'Its reserved concurrency is 0: every call is throttled, and its messages become dead letters.',
        fix: 'Set the reserved concurrency to at least 2, or disable the event source to pause it.',
      }
    }),
  },
  {
    name: 'same-function-for-dead-letters',
    severity: 'warning',
    finds: 'a function that consumes a queue and its dead letters',
    look: eachConsumer(({ consumer: { name }, queue }) => {
      const target = queue.deadLetters
      const takesBoth = target?.consumers.some((other) => other.name === name) ?? false
      if (target === undefined || target === queue || !takesBoth) return undefined
      return {
        reason: `It consumes '${queue.name}' and its dead letters in '${target.name}': it receives again what it could not handle, and no other code sees it.`,
        fix: `Leave '${target.name}' to a person or to other code, and redrive when the cause is fixed.`,
      }
    }),
  },
  {
    name: 'few-receives',
    severity: 'hint',
    finds: 'fewer than five receives on a queue that invokes a function',
    look: eachConsumer(({ queue }) => {
      const { deadLetter } = queue.settings
      if (deadLetter === null || deadLetter.maxReceives === 1 || deadLetter.maxReceives >= 5) {
        return undefined
      }
      return {
        reason: `'${queue.name}' allows ${deadLetter.maxReceives} receives per message. A throttled call uses one, so a load peak can dead-letter good messages.`,
        fix: 'Allow at least 5 receives.',
      }
    }),
  },
]

function reservedFor(sources: readonly ConsumerFacts[]): number | null {
  return sources[0]?.consumer.reservedConcurrency ?? null
}

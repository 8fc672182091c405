/** Runs the doctor on a stack. */
import { examine } from '../contracts/doctor.ts'
import type { Finding } from '../contracts/doctor-rule.ts'
import type { ExaminedQueues } from '../contracts/examined-facts.ts'
import type { Stack } from './stack.ts'

const depthMetric = 'ApproximateNumberOfMessagesVisible'

export function examineStack(stack: Stack): readonly Finding[] {
  return examine(examinedStack(stack))
}

export function examinedStack({ queues, functions, eventSources, alarms }: Stack): ExaminedQueues {
  const byName = new Map(functions.map((one) => [one.name, one]))
  const watched = new Set(
    alarms.filter(({ metric }) => metric === depthMetric).map(({ queue }) => queue),
  )
  return {
    queues: queues.map(({ name, settings, at }) => ({
      name,
      settings,
      isWatched: watched.has(name),
      at,
    })),
    consumers: eventSources.flatMap((source) => {
      const target = byName.get(source.function)
      if (target === undefined || !source.enabled) return []
      return [
        {
          name: target.name,
          queue: source.queue,
          timeoutMs: target.timeoutMs,
          batchSize: source.batchSize,
          batchingWindowMs: source.batchingWindowMs,
          maximumConcurrency: source.maximumConcurrency,
          reservedConcurrency: target.reservedConcurrency,
          reportsBatchItemFailures: source.reportsBatchItemFailures,
          at: source.at,
        },
      ]
    }),
  }
}

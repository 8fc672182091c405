/** Combines all queues into one: sums counts and levels, and takes the age of the oldest message. */
import type { QueueSnapshot } from '../../backends/metric-store.ts'
import { quietMinute } from '../../backends/queue-metrics.ts'
import { addHandlers } from '../../core/handler-figures.ts'
import { countsFrom } from '../../core/queue-counters.ts'

type Together = Omit<QueueSnapshot, 'queue'>

export function sumOfSnapshots(snapshots: readonly QueueSnapshot[]): Together {
  return snapshots.reduce<Together>(
    (sum, one) => ({
      ...countsFrom((name) => sum[name] + one[name]),
      ready: sum.ready + one.ready,
      leased: sum.leased + one.leased,
      delayed: sum.delayed + one.delayed,
      oldestReadyAgeMs: older(sum.oldestReadyAgeMs, one.oldestReadyAgeMs),
      oldestAgeMs: older(sum.oldestAgeMs, one.oldestAgeMs),
      handlers: both(sum.handlers, one.handlers),
    }),
    quietMinute,
  )
}

function older(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other
  return Math.max(one, other)
}

function both(one: Together['handlers'], other: Together['handlers']): Together['handlers'] {
  if (one === null || other === null) return one ?? other
  return addHandlers(one, other)
}

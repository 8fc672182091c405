/**
 * What is counted for a queue, stated once. The columns of stores, the fields of statistics, snapshots and
 * minutes, and the names of metrics for CloudWatch and Prometheus follow from this table. A test checks
 * that docs/metrics.md has them all.
 */
import { type SnakeCase, snakeCase } from './snake-case.ts'

/**
 * `cloudWatch`: as SQS names it, or in its manner. `prometheus`: between `millrace_` and `_total`.
 * `help`: what Prometheus shows. `total`: whether the statistics of a queue have it.
 */
export const queueCounters = {
  sent: {
    cloudWatch: 'NumberOfMessagesSent',
    prometheus: 'messages_sent',
    help: 'Messages that were sent.',
    total: true,
  },
  received: {
    cloudWatch: 'NumberOfMessagesReceived',
    prometheus: 'messages_received',
    help: 'Messages that were received.',
    total: true,
  },
  acknowledged: {
    cloudWatch: 'NumberOfMessagesDeleted',
    prometheus: 'messages_deleted',
    help: 'Messages that were acknowledged.',
    total: true,
  },
  emptyReceives: {
    cloudWatch: 'NumberOfEmptyReceives',
    prometheus: 'receives_empty',
    help: 'Receives that found nothing.',
    total: false,
  },
  deduplicated: {
    cloudWatch: 'NumberOfDeduplicatedSentMessages',
    prometheus: 'messages_deduplicated',
    help: 'Sends that met a duplicate.',
    total: true,
  },
  deadLettered: {
    cloudWatch: 'NumberOfMessagesDeadLettered',
    prometheus: 'messages_dead_lettered',
    help: 'Messages that were moved to the dead-letter queue.',
    total: true,
  },
  expired: {
    cloudWatch: 'NumberOfMessagesExpired',
    prometheus: 'messages_expired',
    help: 'Messages whose retention ended.',
    total: true,
  },
  redriven: {
    cloudWatch: 'NumberOfMessagesRedriven',
    prometheus: 'redrive_moved',
    help: 'Messages that a redrive took out of the queue.',
    total: false,
  },
  failedAttempts: {
    cloudWatch: 'NumberOfFailedAttempts',
    prometheus: 'attempts_failed',
    help: 'Deliveries that were retried, dead-lettered, or lost with their lease.',
    total: false,
  },
} as const

export type QueueCounter = keyof typeof queueCounters

export type QueueCounts = Readonly<Record<QueueCounter, number>>

export const queueCounterNames: readonly QueueCounter[] = namesOf(queueCounters)

type QueueTotal = {
  [Name in QueueCounter]: (typeof queueCounters)[Name]['total'] extends true ? Name : never
}[QueueCounter]

export type QueueTotals = Pick<QueueCounts, QueueTotal>

/** In the spelling of the HTTP API. */
export type QueueTotalsView = { readonly [Name in QueueTotal as SnakeCase<Name>]: number }

const queueTotalNames = queueCounterNames.filter(isTotal)

export const noCounts: QueueCounts = countsFrom(() => 0)

export function countsFrom(read: (name: QueueCounter) => number): QueueCounts {
  const counts = queueCounterNames.map((name) => [name, read(name)])
  return Object.fromEntries(counts) as QueueCounts
}

function isTotal(name: QueueCounter): name is QueueTotal {
  return queueCounters[name].total
}

export function totalsOf(counts: QueueTotals): QueueTotals {
  return Object.fromEntries(queueTotalNames.map((name) => [name, counts[name]])) as QueueTotals
}

export function totalsView(totals: QueueTotals): QueueTotalsView {
  const fields = queueTotalNames.map((name) => [snakeCase(name), totals[name]])
  return Object.fromEntries(fields) as QueueTotalsView
}

function namesOf<Name extends string>(table: Readonly<Record<Name, unknown>>): readonly Name[] {
  return Object.keys(table) as Name[]
}

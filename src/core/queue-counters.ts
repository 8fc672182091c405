/**
 * What is counted for a queue, stated once. The columns of stores, the fields of snapshots and minutes,
 * the names of metrics for CloudWatch and Prometheus and their documentation follow from this table.
 */

/**
 * `cloudWatch`: as SQS names it, or in its manner. `prometheus`: between `millrace_` and `_total`.
 * `help`: what the documentation says.
 */
export const queueCounters = {
  sent: {
    cloudWatch: 'NumberOfMessagesSent',
    prometheus: 'messages_sent',
    help: 'Messages that were sent.',
  },
  received: {
    cloudWatch: 'NumberOfMessagesReceived',
    prometheus: 'messages_received',
    help: 'Messages that were received.',
  },
  acknowledged: {
    cloudWatch: 'NumberOfMessagesDeleted',
    prometheus: 'messages_deleted',
    help: 'Messages that were acknowledged.',
  },
  emptyReceives: {
    cloudWatch: 'NumberOfEmptyReceives',
    prometheus: 'receives_empty',
    help: 'Receives that found nothing.',
  },
  deduplicated: {
    cloudWatch: 'NumberOfDeduplicatedSentMessages',
    prometheus: 'messages_deduplicated',
    help: 'Sends that met a duplicate.',
  },
  deadLettered: {
    cloudWatch: 'NumberOfMessagesDeadLettered',
    prometheus: 'messages_dead_lettered',
    help: 'Messages that were moved to the dead-letter queue.',
  },
  expired: {
    cloudWatch: 'NumberOfMessagesExpired',
    prometheus: 'messages_expired',
    help: 'Messages whose retention ended.',
  },
  redriven: {
    cloudWatch: 'NumberOfMessagesRedriven',
    prometheus: 'redrive_moved',
    help: 'Messages that a redrive took out of the queue.',
  },
  failedAttempts: {
    cloudWatch: 'NumberOfFailedAttempts',
    prometheus: 'attempts_failed',
    help: 'Deliveries that were retried, dead-lettered, or lost with their lease.',
  },
} as const

export type QueueCounter = keyof typeof queueCounters

export type QueueCounts = Readonly<Record<QueueCounter, number>>

export const queueCounterNames: readonly QueueCounter[] = namesOf(queueCounters)

export const noCounts: QueueCounts = countsFrom(() => 0)

export function countsFrom(read: (name: QueueCounter) => number): QueueCounts {
  const counts = queueCounterNames.map((name) => [name, read(name)])
  return Object.fromEntries(counts) as QueueCounts
}

function namesOf<Name extends string>(table: Readonly<Record<Name, unknown>>): readonly Name[] {
  return Object.keys(table) as Name[]
}

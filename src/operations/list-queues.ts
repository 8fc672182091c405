/** The queues of a store with their counts, those with the oldest messages first. */
import type { Backend, QueueRecord } from '../backends/backend.ts'
import { everyPage } from './every-page.ts'
import { type QueueSummary, queueSummary } from './queue-view.ts'

export interface ListQueuesOptions {
  /** Only queues whose name starts with this. */
  readonly prefix?: string
}

export async function listQueues(
  backend: Pick<Backend, 'listQueues' | 'queueStatistics'>,
  options: ListQueuesOptions = {},
): Promise<readonly QueueSummary[]> {
  const records = await allQueues(backend, options)
  const summaries = await Promise.all(
    records.map(async (record) =>
      queueSummary(record, await backend.queueStatistics({ queue: record.name })),
    ),
  )
  return summaries.toSorted(longestWaitFirst)
}

/** All queues, by name. */
export function allQueues(
  backend: Pick<Backend, 'listQueues'>,
  { prefix }: ListQueuesOptions = {},
): Promise<readonly QueueRecord[]> {
  return everyPage((page) =>
    backend.listQueues({ ...page, ...(prefix !== undefined && { prefix }) }),
  )
}

/** Queues without waiting messages come last. */
export function longestWaitFirst(
  one: Pick<QueueSummary, 'name' | 'oldest_age_ms'>,
  other: Pick<QueueSummary, 'name' | 'oldest_age_ms'>,
): number {
  const byAge = (other.oldest_age_ms ?? -1) - (one.oldest_age_ms ?? -1)
  return byAge || (one.name < other.name ? -1 : 1)
}

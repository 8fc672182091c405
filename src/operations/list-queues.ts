/** The queues of a store with their counts, those that wait longest first. */
import type { Backend, QueueRecord } from '../backends/backend.ts'
import { everyPage } from './every-page.ts'
import { type QueueSummary, queueSummary } from './queue-view.ts'

export interface ListQueuesOptions {
  /** Only queues whose name begins with it. */
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

/** By name, as the store has them. */
export function allQueues(
  backend: Pick<Backend, 'listQueues'>,
  { prefix }: ListQueuesOptions = {},
): Promise<readonly QueueRecord[]> {
  return everyPage((page) =>
    backend.listQueues({ ...page, ...(prefix !== undefined && { prefix }) }),
  )
}

/** A queue in which nothing waits comes behind one whose message has just arrived. */
export function longestWaitFirst(
  one: Pick<QueueSummary, 'name' | 'oldest_age_ms'>,
  other: Pick<QueueSummary, 'name' | 'oldest_age_ms'>,
): number {
  const byAge = (other.oldest_age_ms ?? -1) - (one.oldest_age_ms ?? -1)
  return byAge || (one.name < other.name ? -1 : 1)
}

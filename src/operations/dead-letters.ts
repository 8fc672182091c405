/** Dead-letter queues: their source queues, and why messages failed. */
import type { Backend, PeekedMessage } from '../backends/backend.ts'
import { isoTime } from '../core/iso-time.ts'
import { allQueues, longestWaitFirst } from './list-queues.ts'
import { type QueueCounts, queueCounts } from './queue-view.ts'

export interface DeadLetterQueueView extends QueueCounts {
  readonly name: string
  readonly type: 'standard' | 'fifo'
  /** The queues that use it. */
  readonly sources: readonly string[]
}

/** Dead letters with the same source queue and reason. */
export interface DeadLetterGroup {
  /** Null for messages that were sent here directly. */
  readonly source: string | null
  /** Null if the messages were only received too often. */
  readonly reason: string | null
  readonly messages: number
  readonly first_at: string | null
  readonly last_at: string | null
}

export interface DeadLetterSurvey {
  readonly groups: readonly DeadLetterGroup[]
  readonly looked_at: number
  /** False if only a part of the queue was examined. */
  readonly complete: boolean
}

export async function listDeadLetterQueues(
  backend: Pick<Backend, 'listQueues' | 'queueStatistics'>,
): Promise<readonly DeadLetterQueueView[]> {
  const queues = await allQueues(backend)
  const sourcesOf = Map.groupBy(
    queues.filter(({ settings }) => settings.deadLetter !== null),
    ({ settings }) => settings.deadLetter?.queue,
  )
  const views = await Promise.all(
    queues
      .filter(({ name }) => sourcesOf.has(name))
      .map(async ({ name, settings }) => ({
        name,
        type: settings.type,
        ...queueCounts(await backend.queueStatistics({ queue: name })),
        sources: (sourcesOf.get(name) ?? []).map((source) => source.name),
      })),
  )
  return views.toSorted(longestWaitFirst)
}

/** At most this many messages are examined. The counts of the queue are exact in any case. */
export const surveyMax = 10_000
const pageSize = 1_000

/** Groups the waiting dead letters by source queue and reason, largest group first. */
export async function surveyDeadLetters(
  backend: Pick<Backend, 'peek'>,
  queue: string,
): Promise<DeadLetterSurvey> {
  const groups = new Map<string, Tally>()
  let lookedAt = 0
  let after: string | undefined
  do {
    const page = await backend.peek({
      queue,
      state: 'ready',
      limit: pageSize,
      ...(after !== undefined && { after }),
    })
    for (const message of page.items) addTo(groups, message)
    lookedAt += page.items.length
    after = page.next
  } while (after !== undefined && lookedAt < surveyMax)
  const views = [...groups.values()]
    .sort((one, other) => other.messages - one.messages)
    .map(({ firstAt, lastAt, ...group }) => ({
      ...group,
      first_at: isoTime(firstAt),
      last_at: isoTime(lastAt),
    }))
  return { groups: views, looked_at: lookedAt, complete: after === undefined }
}

interface Tally extends Pick<DeadLetterGroup, 'source' | 'reason'> {
  messages: number
  firstAt: number | null
  lastAt: number | null
}

function addTo(groups: Map<string, Tally>, { deadLetterOrigin: deadLetter }: PeekedMessage): void {
  const { source = null, reason = null, at = null } = deadLetter ?? {}
  const key = JSON.stringify([source, reason])
  const tally = groups.get(key) ?? { source, reason, messages: 0, firstAt: at, lastAt: at }
  groups.set(key, tally)
  tally.messages += 1
  if (at === null) return
  tally.firstAt = Math.min(tally.firstAt ?? at, at)
  tally.lastAt = Math.max(tally.lastAt ?? at, at)
}

/** Dead-letter queues: which there are, whose dead letters they hold, and of what these died. */
import type { Backend, PeekedMessage } from '../backends/backend.ts'
import { isoTime } from '../core/iso-time.ts'
import { allQueues, longestWaitFirst } from './list-queues.ts'
import { type QueueCounts, queueCounts } from './queue-view.ts'

export interface DeadLetterQueueView extends QueueCounts {
  readonly name: string
  readonly type: 'standard' | 'fifo'
  /** The queues that name it. */
  readonly sources: readonly string[]
}

/** Dead letters of one source that died for one reason. */
export interface DeadLetterGroup {
  /** Null for messages that were sent here and did not die. */
  readonly source: string | null
  /** Null when they only used up their receives. */
  readonly reason: string | null
  readonly messages: number
  readonly first_at: string | null
  readonly last_at: string | null
}

export interface DeadLetterSurvey {
  readonly groups: readonly DeadLetterGroup[]
  readonly looked_at: number
  /** False when there are more than were looked at. */
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

/** More than this is not looked at one by one; the counts of the queue are exact anyway. */
export const surveyMax = 10_000
const pageSize = 1_000

/** Groups the waiting dead letters by where and why they died, the largest group first. */
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

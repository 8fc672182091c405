/** Reads the jobs of a queue in pages, without changing anything. */
import type { JobType, RedisQueueBackend } from 'bullmq'
import type { MessageState } from '../../../core/message.ts'
import type { Page } from '../../stored-message.ts'
import type { CarrierPeek, CarrierPeeked } from '../carrier.ts'
import type { CommandBatch } from './command-batch.ts'
import { type FetchedJob, messageContent } from './job-content.ts'

export interface QueuePages {
  readonly backend: RedisQueueBackend
  readonly batch: CommandBatch
  readonly now: () => number
}

/** Where jobs of a state are, in the order in which they are received. */
export const listsOf: Readonly<Record<MessageState, readonly JobType[]>> = {
  ready: ['wait', 'prioritized'],
  leased: ['active'],
  delayed: ['delayed'],
}

/** The first 12 bits of a delayed job's score keep the order of jobs that are due in the same millisecond. */
const delayedScoreUnit = 4_096

/**
 * A page begins at a position of a list: jobs that are added or received meanwhile may be left out or returned
 * twice.
 */
export async function queuePage(
  { backend, batch, now }: QueuePages,
  { state, after, limit }: Omit<CarrierPeek, 'queue'>,
): Promise<Page<CarrierPeeked>> {
  const lists = listsOf[state]
  let { list, offset } = positionIn(after)
  const jobs: FetchedJob[] = []
  for (; list < lists.length && jobs.length < limit; list++, offset = 0) {
    const type = lists[list] ?? 'wait'
    const wanted = limit - jobs.length
    const [found = []] = await backend.getJobs([type], offset, offset + wanted - 1, true)
    jobs.push(...found.map(([id, fields]) => jobOf(id, fields)))
    offset += found.length
    if (found.length === wanted) break
  }
  const dueAt = await dueTimes({ backend, batch, now }, state, jobs)
  const items = jobs.map((job, index) => peeked(job, state, dueAt[index] ?? null))
  return jobs.length < limit ? { items } : { items, next: `${list}:${offset}` }
}

function positionIn(after: string | undefined): { list: number; offset: number } {
  const [list = 0, offset = 0] = (after ?? '').split(':').map(Number)
  return { list: list || 0, offset: offset || 0 }
}

async function dueTimes(
  { backend, batch, now }: QueuePages,
  state: MessageState,
  jobs: readonly FetchedJob[],
): Promise<readonly (number | null)[]> {
  if (state === 'ready' || jobs.length === 0) return []
  if (state === 'delayed') {
    const ids = jobs.map(({ id }) => id)
    const scores = (await batch.call('zmscore', backend.toKey('delayed'), ...ids)) as string[]
    return scores.map((score) =>
      score === null ? null : Math.floor(Number(score) / delayedScoreUnit),
    )
  }
  const locks = await Promise.all(
    jobs.map(({ id }) => batch.call('pttl', `${backend.toKey(id)}:lock`)),
  )
  const at = now()
  return locks.map((ms) => at + Math.max(0, Number(ms)))
}

function peeked(job: FetchedJob, state: MessageState, dueAt: number | null): CarrierPeeked {
  const { id, timestamp, attemptsMade, stalledCounter, processedOn } = job
  const { labels, body, attributes, systemAttributes, group, deduplicationId } = messageContent(job)
  return {
    id: labels?.id ?? id,
    labels,
    // BullMQ numbers only jobs to which it gives an id.
    sequence: /^\d{1,15}$/.test(id) ? Number(id) : 0,
    body,
    attributes,
    systemAttributes,
    group,
    deduplicationId,
    sentAt: timestamp,
    firstReceivedAt: processedOn ?? null,
    receiveCount: attemptsMade + stalledCounter + (state === 'leased' ? 1 : 0),
    deadLetterOrigin: labels?.deadLetterOrigin ?? null,
    state,
    dueAt,
  }
}

/** @param fields names and values in turn */
export function jobOf(id: string, fields: readonly string[]): FetchedJob {
  const values = new Map<string, string>()
  for (let index = 0; index + 1 < fields.length; index += 2) {
    values.set(fields[index] ?? '', fields[index + 1] ?? '')
  }
  const number = (name: string): number => Number(values.get(name) ?? 0)
  return {
    id,
    name: values.get('name') ?? '',
    data: values.get('data') ?? '{}',
    opts: JSON.parse(values.get('opts') ?? '{}'),
    timestamp: number('timestamp'),
    processedOn: values.has('processedOn') ? number('processedOn') : undefined,
    priority: number('priority'),
    delay: number('delay'),
    attemptsMade: number(values.has('attemptsMade') ? 'attemptsMade' : 'atm'),
    stalledCounter: number('stc'),
  }
}

/**
 * When the store of a test changes by itself: a lease or a job expires, a flow reaches its deadline. Virtual
 * time then jumps there. Delays and backoff are not among it, because workers wait for them themselves.
 */
import type { Backend, QueueRecord } from '../backends/backend.ts'
import type { MessageState } from '../core/message.ts'
import type { Clock } from '../core/ports.ts'

/** More of one kind than this are not read: then the time is not known, and the store is swept often. */
const readMax = 100

const hourMs = 3_600_000

/** Milliseconds, or infinity if nothing changes by itself. */
export async function nextChangeIn(backend: Backend, clock: Clock): Promise<number> {
  const now = (await backend.alarms?.now()) ?? clock.now()
  const queues = await backend.listQueues({ limit: readMax })
  const times = [
    unread(queues, now),
    ...(await deadlines(backend, now)),
    ...(await Promise.all(queues.items.map((queue) => changesOf(backend, queue, now)))).flat(),
  ]
  // What is due already was done by the sweep, or cannot be done yet.
  return Math.min(...times.filter((at) => at > now)) - now
}

async function deadlines({ flows }: Backend, now: number): Promise<readonly number[]> {
  if (flows === null) return []
  const open = await flows.list({ prefix: '', status: 'open', limit: readMax })
  return [unread(open, now), ...open.items.map(({ deadlineAt }) => deadlineAt ?? never)]
}

async function changesOf(
  backend: Backend,
  { name: queue, settings }: QueueRecord,
  now: number,
): Promise<readonly number[]> {
  const { ready, leased, delayed } = await backend.queueStatistics({ queue })
  if (ready + leased + delayed === 0) return []
  const counts: Readonly<Record<MessageState, number>> = { ready, leased, delayed }
  const times: number[] = []
  for (const state of ['ready', 'leased', 'delayed'] as const) {
    if (counts[state] === 0) continue
    const messages = await backend.peek({ queue, state, limit: readMax })
    times.push(unread(messages, now))
    for (const { sentAt, dueAt } of messages.items) {
      times.push(sentAt + settings.retentionMs)
      if (state === 'leased' && dueAt !== null) times.push(dueAt)
    }
  }
  const jobs = await backend.jobs?.list({ queue, status: 'pending', limit: readMax })
  if (jobs !== undefined) {
    times.push(unread(jobs, now), ...jobs.items.map(({ expiresAt }) => expiresAt ?? never))
  }
  const [task] = await backend.listMoveTasks({ source: queue, limit: 1 })
  if (task?.status === 'running') times.push(now + 1_000)
  return times
}

const never = Number.POSITIVE_INFINITY

function unread({ next }: { readonly next?: string }, now: number): number {
  return next === undefined ? never : now + hourMs
}

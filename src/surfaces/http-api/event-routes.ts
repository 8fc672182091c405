/**
 * GET /jobs/:id/events: the progress of a job as server-sent events. The id of an event identifies the state
 * of the job. A client that reconnects, to any process, gets only newer states.
 */
import type { Hono } from 'hono'
import { describeRoute } from 'hono-openapi'
import type { Ports } from '../../core/ports.ts'
import { isFinishedJob, type Job } from '../../jobs/job.ts'
import type { ApiEnv } from './api-env.ts'
import { ApiProblem } from './api-problem.ts'
import type { Caller } from './caller.ts'
import { jobView } from './job-view.ts'
import { eventIdOf, isOnlyProgress, type JobFollower, JobWatcher } from './job-watcher.ts'
import { type JobsContext, visibleJob } from './jobs-context.ts'
import { operations } from './openapi-operations.ts'

/** Shorter than the idle timeout of common proxies. */
const heartbeatMs = 15_000
/** How long a client waits before it reconnects. */
const reconnectMs = 2_000
/**
 * Maximum duration of a stream; the client then reconnects. The system's buffers can hold the events of
 * hours, so nothing else reveals a client that has stopped reading.
 */
const lifetimeMs = 300_000

export function eventRoutes(api: Hono<ApiEnv>, context: JobsContext): void {
  const { ports, signal: stopping } = context.settings
  const watcher = new JobWatcher({ read: (id) => context.jobs.get(id), timers: ports.timers })
  const open = new OpenStreams(context.settings.streamsPerCaller)

  api.get('/jobs/:id/events', describeRoute(operations.events), async (c) => {
    const caller = c.get('caller')
    const job = await visibleJob(context, caller, c.req.param('id'))
    const seen = c.req.header('last-event-id') ?? ''
    // 204 is the only response after which browsers do not reconnect.
    if (isFinishedJob(job) && eventIdOf(job) === seen) return c.body(null, 204)
    // The second header keeps nginx from buffering events.
    const headers = {
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
    }
    if (c.req.method === 'HEAD') return c.body(null, 200, headers)
    const close = open.enter(caller)
    const follower = watcher.follow(job)
    const over = new AbortController()
    const end = (): void => {
      over.abort()
      cancelExpiry()
      follower.leave()
      close()
    }
    // A timer, because the stream is not pulled any more when the client has stopped reading.
    const cancelExpiry = ports.timers.after(lifetimeOf(caller, ports), end, { background: true })
    const events = eventsOf({
      follower,
      seen,
      tell: (state) => jobView(context, caller, state, 'event'),
      signal: AbortSignal.any([over.signal, stopping]),
    })
    return c.body(streamOf(events, end), 200, headers)
  })
}

interface Following {
  readonly follower: JobFollower
  /** The id of the last event that the client received, or an empty string. */
  readonly seen: string
  readonly tell: (job: Job) => unknown
  readonly signal: AbortSignal
}

async function* eventsOf({ follower, seen, tell, signal }: Following): AsyncGenerator<string> {
  yield `retry: ${reconnectMs}\n\n`
  for (let last = seen; !signal.aborted; ) {
    const job = follower.latest
    if (job === undefined) return
    const id = eventIdOf(job)
    if (id !== last) {
      const event = isOnlyProgress(last, id) ? 'progress' : 'status'
      yield `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(tell(job))}\n\n`
      last = id
    } else if (isFinishedJob(job)) {
      return
    } else if ((await follower.wait(heartbeatMs, signal)) === 'silent' && !signal.aborted) {
      yield ': still here\n\n'
    }
  }
}

/** Reads the next event only when the client has read the last one. So slow clients skip states. */
function streamOf(texts: AsyncGenerator<string>, onEnd: () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await texts.next()
      if (!done) return controller.enqueue(encoder.encode(value))
      onEnd()
      controller.close()
    },
    cancel: onEnd,
  })
}

/** A stream ends when its credentials expire. */
function lifetimeOf({ expiresAt }: Caller, { clock }: Ports): number {
  if (expiresAt === null) return lifetimeMs
  return Math.min(lifetimeMs, Math.max(0, expiresAt - clock.now()))
}

class OpenStreams {
  readonly #max: number
  readonly #open = new Map<string, number>()

  constructor(max: number) {
    this.#max = max
  }

  /** Returns a function that releases the stream. It can be called more than once. */
  enter({ identity }: Caller): () => void {
    const count = this.#open.get(identity) ?? 0
    if (count >= this.#max) throw new ApiProblem('too_many_streams')
    this.#open.set(identity, count + 1)
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      const left = (this.#open.get(identity) ?? 1) - 1
      if (left === 0) this.#open.delete(identity)
      else this.#open.set(identity, left)
    }
  }
}

/** Enqueues jobs: POST /jobs/:queue, and POST /jobs/:id/retry, which enqueues a job again. */
import type { Context, Hono } from 'hono'
import { describeRoute } from 'hono-openapi'
import type { ApiEnv } from './api-env.ts'
import { ApiProblem } from './api-problem.ts'
import { type Caller, isTrusted } from './caller.ts'
import { enqueueLimit } from './enqueue-limit.ts'
import { readEnqueueRequest } from './enqueue-request.ts'
import { findQueue, type JobsContext, type KnownQueue, visibleJob } from './jobs-context.ts'
import { operations } from './openapi-operations.ts'
import { readJsonBody } from './read-json-body.ts'

export function enqueueRoutes(api: Hono<ApiEnv>, context: JobsContext): void {
  const { settings } = context
  const { timers } = settings.ports
  const limit = enqueueLimit(settings)

  api.post(
    '/jobs/:queue',
    describeRoute(operations.enqueue),
    async (c, next) => {
      refuseRole(context, c.get('caller'), c.req.param('queue'))
      await next()
    },
    limit,
    async (c) => {
      const body = await readJsonBody(c.req.raw, { ...settings, timers })
      const queue = requireQueue(context, c.req.param('queue'))
      const { type, payload, options } = readEnqueueRequest({
        body,
        keyHeader: c.req.header('idempotency-key'),
        traceparent: c.req.header('traceparent'),
        caller: c.get('caller'),
        queue,
      })
      const { status, id } = await context.jobs.enqueue(queue.key, type, payload, options)
      if (status === 'created') return accepted(c, { id, status: 'pending' })
      c.header('idempotent-replayed', 'true')
      // A key may be kept longer than its job.
      return accepted(c, { id, status: (await context.jobs.get(id))?.status ?? null })
    },
  )

  api.post('/jobs/:id/retry', describeRoute(operations.retry), limit, async (c) => {
    const { id } = await visibleJob(context, c.get('caller'), c.req.param('id'))
    const retried = await context.jobs.retry(id)
    return accepted(c, { id: retried.id, status: 'pending' })
  })
}

interface Accepted {
  readonly id: string
  readonly status: string | null
}

function accepted(c: Context<ApiEnv>, { id, status }: Accepted): Response {
  // The path ends with the queue, or with the id of the retried job.
  const [jobs = ''] = /^.*\/jobs(?=\/)/.exec(c.req.path) ?? []
  c.header('location', `${jobs}/${id}`)
  return c.json({ job_id: id, status }, 202)
}

/** Users get the same error for a queue that they may not use and for one that does not exist. */
function refuseRole(context: JobsContext, caller: Caller, text: string): void {
  if (isTrusted(caller)) return
  const queue = findQueue(context, text)
  if (queue === undefined || !context.settings.userQueues.has(queue.key)) {
    throw new ApiProblem('forbidden')
  }
}

function requireQueue(context: JobsContext, text: string): KnownQueue {
  const queue = findQueue(context, text)
  if (queue !== undefined) return queue
  const keys = context.queues.map(({ key }) => key)
  const expected =
    keys.length === 0 ? 'no queue: the app has no job queues' : `one of ${keys.join(', ')}`
  throw new ApiProblem('unknown_queue', { errors: [{ field: 'queue', expected }] })
}

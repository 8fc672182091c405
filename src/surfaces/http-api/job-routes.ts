/**
 * Reads, cancels and moves jobs: GET /jobs, GET /jobs/:id with /attempts and /logs, and POST
 * /jobs/:id/cancel, /reschedule and /promote.
 */
import type { Hono } from 'hono'
import { describeRoute } from 'hono-openapi'
import { logLineView } from '../../operations/job-view.ts'
import type { ApiEnv } from './api-env.ts'
import { ApiProblem } from './api-problem.ts'
import { isTrusted } from './caller.ts'
import { readReschedule } from './due-request.ts'
import { attemptViewFor, jobView } from './job-view.ts'
import { type JobsContext, visibleJob } from './jobs-context.ts'
import { listJobs, readListRequest } from './list-jobs.ts'
import { operations } from './openapi-operations.ts'
import { readJsonBody } from './read-json-body.ts'

export function jobRoutes(api: Hono<ApiEnv>, context: JobsContext): void {
  const { settings } = context
  const { timers } = settings.ports

  api.get('/jobs', describeRoute(operations.list), async (c) => {
    const caller = c.get('caller')
    const { items, next = null } = await listJobs(context, caller, readListRequest(c.req.queries()))
    return c.json({ jobs: items.map((job) => jobView(context, caller, job, 'row')), next })
  })

  api.get('/jobs/:id', describeRoute(operations.read), async (c) => {
    const caller = c.get('caller')
    return c.json(jobView(context, caller, await visibleJob(context, caller, c.req.param('id'))))
  })

  api.get('/jobs/:id/attempts', describeRoute(operations.attempts), async (c) => {
    const caller = c.get('caller')
    const { id } = await visibleJob(context, caller, c.req.param('id'))
    const attempts = await context.jobs.attempts(id)
    return c.json({ attempts: attempts.map((attempt) => attemptViewFor(caller, attempt)) })
  })

  api.get('/jobs/:id/logs', describeRoute(operations.logs), async (c) => {
    const caller = c.get('caller')
    const { id } = await visibleJob(context, caller, c.req.param('id'))
    // Handlers log for their developers, not for the owner of a job.
    if (!isTrusted(caller)) throw new ApiProblem('forbidden')
    return c.json({ logs: (await context.jobs.logs(id)).map(logLineView) })
  })

  api.post('/jobs/:id/cancel', describeRoute(operations.cancel), async (c) => {
    const caller = c.get('caller')
    const { id } = await visibleJob(context, caller, c.req.param('id'))
    return c.json(jobView(context, caller, await context.jobs.cancel(id)))
  })

  api.post('/jobs/:id/reschedule', describeRoute(operations.reschedule), async (c) => {
    const caller = c.get('caller')
    const { id } = await visibleJob(context, caller, c.req.param('id'))
    const when = readReschedule(await readJsonBody(c.req.raw, { ...settings, timers }))
    return c.json(jobView(context, caller, await context.jobs.reschedule(id, when)))
  })

  api.post('/jobs/:id/promote', describeRoute(operations.promote), async (c) => {
    const caller = c.get('caller')
    const { id } = await visibleJob(context, caller, c.req.param('id'))
    return c.json(jobView(context, caller, await context.jobs.promote(id)))
  })
}

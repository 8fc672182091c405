/**
 * Kill switches, for admins alone: GET /switches, PUT and DELETE /switches/:scope/:value, and
 * GET /switches/events. The history records the caller.
 */
import type { Hono } from 'hono'
import { describeRoute } from 'hono-openapi'
import { MillraceError } from '../../core/millrace-error.ts'
import { switchEventView, switchView } from '../../operations/switch-view.ts'
import type { ApiEnv } from './api-env.ts'
import { ApiProblem } from './api-problem.ts'
import { adminsOnly } from './authenticate.ts'
import type { JobsContext } from './jobs-context.ts'
import { operations } from './openapi-operations.ts'
import { readJsonBody } from './read-json-body.ts'
import { readPage, readQuery } from './read-query.ts'
import { readSetSwitch, readTarget } from './switch-request.ts'

export function switchRoutes(api: Hono<ApiEnv>, context: JobsContext): void {
  const { switches, settings } = context
  const { timers } = settings.ports
  for (const path of ['/switches', '/switches/*']) api.use(path, adminsOnly)

  api.get('/switches', describeRoute(operations.switches), async (c) => {
    const on = await switches.list()
    return c.json({ switches: on.map(switchView) })
  })

  api.get('/switches/events', describeRoute(operations.switchEvents), async (c) => {
    const { items, next = null } = await switches.history(readPage(c.req.queries()))
    return c.json({ events: items.map(switchEventView), next })
  })

  api.put('/switches/:scope/:value', describeRoute(operations.setSwitch), async (c) => {
    const on = readTarget(c.req.param())
    const body = await readJsonBody(c.req.raw, { ...settings, timers })
    const { mode, options } = readSetSwitch(body)
    const by = c.get('caller').signature
    const record = await found(context, switches[mode](on, { ...options, by }))
    return c.json(switchView(record))
  })

  api.delete('/switches/:scope/:value', describeRoute(operations.liftSwitch), async (c) => {
    const on = readTarget(c.req.param())
    const note = readQuery(c.req.queries(), ['note'])('note')
    const by = c.get('caller').signature
    const lifting = switches.lift(on, { by, ...(note !== undefined && { note }) })
    if (!(await found(context, lifting))) throw new ApiProblem('switch_not_on')
    return c.body(null, 204)
  })
}

/** Here the caller named the queue, so a missing queue is an invalid request, not a server error. */
async function found<T>({ queueKeys }: JobsContext, changed: Promise<T>): Promise<T> {
  try {
    return await changed
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code !== 'queue_not_found') throw error
    const expected = `one of ${queueKeys.join(', ')}`
    throw new ApiProblem('not_found', { errors: [{ field: 'value', expected }] })
  }
}

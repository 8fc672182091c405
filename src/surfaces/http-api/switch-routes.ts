/** Kill switches, for admins: GET /switches, its events, PUT and DELETE /switches/:scope/:value. */
import type { Hono } from 'hono'
import { describeRoute } from 'hono-openapi'
import type { SwitchEvent, SwitchRecord } from '../../backends/switch-store.ts'
import { checkOneOf, checkRange, type Violations } from '../../core/checks.ts'
import type { Duration } from '../../core/durations.ts'
import { limits } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { SwitchOn } from '../../operations/switches.ts'
import type { ApiEnv } from './api-env.ts'
import { ApiProblem } from './api-problem.ts'
import type { JobsContext } from './jobs-context.ts'
import { operations } from './openapi-operations.ts'
import { readJsonBody } from './read-json-body.ts'

export function switchRoutes(api: Hono<ApiEnv>, { switches, settings }: JobsContext): void {
  const { timers } = settings.ports
  for (const path of ['/switches', '/switches/*']) {
    api.use(path, async (c, next) => {
      if (c.get('caller').role !== 'admin') throw new ApiProblem('forbidden')
      await next()
    })
  }

  api.get('/switches', describeRoute(operations.switches), async (c) => {
    const on = await switches.list()
    return c.json({ switches: on.map((one) => ({ ...switchView(one), source: one.source })) })
  })

  api.get('/switches/events', describeRoute(operations.switchEvents), async (c) => {
    const { limit = '20', after } = c.req.query()
    const request = { limit: Number(limit), ...(after !== undefined && { after }) }
    check((into) => checkRange(into, 'limit', request.limit, limits.pageSize))
    const { items, next = null } = await switches.history(request)
    return c.json({ events: items.map(eventView), next })
  })

  api.put('/switches/:scope/:value', describeRoute(operations.setSwitch), async (c) => {
    const { mode, note, lasting } = readSetting(
      await readJsonBody(c.req.raw, { ...settings, timers }),
    )
    const on = targetOf(c.req.param('scope'), c.req.param('value'))
    const options = { by: c.get('caller').name, ...note, ...lasting }
    const set = mode === 'hold' ? switches.hold : switches.divert
    return c.json(switchView(await found(set(on, options))))
  })

  api.delete('/switches/:scope/:value', describeRoute(operations.liftSwitch), async (c) => {
    const on = targetOf(c.req.param('scope'), c.req.param('value'))
    const wasOn = await found(switches.lift(on, { by: c.get('caller').name }))
    if (!wasOn) throw new MillraceError('switch_not_on')
    return c.body(null, 204)
  })
}

const scopes: readonly string[] = ['queue', 'type', 'tier', 'tenant', 'name']

function targetOf(scope: string, value: string): SwitchOn {
  check((into) => checkOneOf(into, 'scope', scope, scopes))
  // One of the forms of the type, by the check above.
  return { [scope]: value } as unknown as SwitchOn
}

interface Setting {
  readonly mode: 'hold' | 'divert'
  readonly note: { readonly note?: string }
  readonly lasting: { readonly for?: Duration }
}

function readSetting(body: unknown): Setting {
  const given: Readonly<Record<string, unknown>> =
    typeof body === 'object' && body !== null && !Array.isArray(body) ? { ...body } : {}
  const { mode, note, for: lasting, ...others } = given
  const isText = (value: unknown): boolean => value === undefined || typeof value === 'string'
  check((into) => {
    checkOneOf(into, 'mode', mode, ['hold', 'divert'])
    if (!isText(note)) into.push({ field: 'note', given: 'another value', allowed: 'a text' })
    if (!isText(lasting)) {
      into.push({ field: 'for', given: 'another value', allowed: "a duration such as '1h'" })
    }
    for (const field of Object.keys(others)) {
      const allowed = 'mode, note or for'
      into.push({ field: field.slice(0, 200), given: 'an unknown field', allowed })
    }
  })
  return {
    mode: mode === 'divert' ? 'divert' : 'hold',
    note: typeof note === 'string' ? { note } : {},
    // Whether it is a duration, the switch itself will say.
    lasting: typeof lasting === 'string' ? { for: lasting as Duration } : {},
  }
}

/** Whoever names a queue that is not there has made a mistake; the store is in order. */
async function found<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const isMissing = error instanceof MillraceError && error.code === 'queue_not_found'
    throw isMissing ? new ApiProblem('not_found') : error
  }
}

function check(run: (into: Violations) => void): void {
  const violations: Violations = []
  run(violations)
  if (violations.length > 0) throw MillraceError.invalid(violations)
}

function switchView({ scope, value, mode, by, note, setAt, until }: SwitchRecord): object {
  return { scope, value, mode, by, note, set_at: isoTime(setAt), until: isoTimeOrNull(until) }
}

function eventView({ scope, value, event, mode, by, note, at, until }: SwitchEvent): object {
  return {
    ...{ scope, value, event, mode, by, note },
    at: isoTime(at),
    until: isoTimeOrNull(until),
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms)
}

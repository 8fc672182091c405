/**
 * Alarms, for operators and admins: GET /alarms, GET /alarms/:name, GET /alarms/:name/history, and POST
 * /alarms/:name/state, which sets a state to test the actions.
 */
import type { Hono } from 'hono'
import { describeRoute } from 'hono-openapi'
import type { AlarmState } from '../../core/alarm-rule.ts'
import { alarmStates } from '../../core/alarm-rule.ts'
import { alarmTransitionView, alarmView } from '../../operations/alarms/alarm-view.ts'
import type { Alarms, TestAlarmOptions } from '../../operations/alarms/alarms.ts'
import type { ApiEnv } from './api-env.ts'
import type { ApiSettings } from './api-options.ts'
import { ApiProblem } from './api-problem.ts'
import { authenticate } from './authenticate.ts'
import { mayWatch } from './caller.ts'
import { alarmOperations } from './openapi-alarms.ts'
import { readFields } from './read-fields.ts'
import { readJsonBody } from './read-json-body.ts'
import { readPage, readQuery } from './read-query.ts'

export interface AlarmContext {
  readonly alarms: Alarms
  readonly settings: ApiSettings
}

export function alarmRoutes(api: Hono<ApiEnv>, { alarms, settings }: AlarmContext): void {
  const { auth, ports } = settings
  for (const path of ['/alarms', '/alarms/*']) {
    api.use(path, authenticate(auth, ports.clock, mayWatch))
  }

  api.get('/alarms', describeRoute(alarmOperations.list), async (c) => {
    const state = readState(readQuery(c.req.queries(), ['state'])('state'))
    const records = await alarms.list()
    const shown = records.filter((record) => state === undefined || record.state === state)
    return c.json({ alarms: shown.map(alarmView) })
  })

  api.get('/alarms/:name', describeRoute(alarmOperations.read), async (c) => {
    const record = await alarms.get(c.req.param('name'))
    if (record === undefined) throw new ApiProblem('not_found')
    return c.json(alarmView(record))
  })

  api.get('/alarms/:name/history', describeRoute(alarmOperations.history), async (c) => {
    const alarm = c.req.param('name')
    const request = readPage(c.req.queries())
    const { items, next = null } = await alarms.history({ alarm, ...request })
    // An alarm that is no longer declared may still have a history.
    if (items.length === 0 && (await alarms.get(alarm)) === undefined) {
      throw new ApiProblem('not_found')
    }
    return c.json({ changes: items.map(alarmTransitionView), next })
  })

  api.post('/alarms/:name/state', describeRoute(alarmOperations.test), async (c) => {
    const name = c.req.param('name')
    const body = await readJsonBody(c.req.raw, { ...settings, timers: ports.timers })
    const options = readTest(body)
    await alarms.test(name, { ...options, by: c.get('caller').signature })
    const record = await alarms.get(name)
    if (record === undefined) throw new ApiProblem('not_found')
    return c.json(alarmView(record))
  })
}

function readState(given: string | undefined): AlarmState | undefined {
  const state = alarmStates.find((one) => one === given)
  if (state !== undefined || given === undefined) return state
  throw ApiProblem.invalid({ field: 'state', expected: `one of ${alarmStates.join(', ')}` })
}

/** The fields, after `readFields` has checked their types. */
interface Fields {
  readonly state?: string
  readonly reason?: string
}

function readTest(body: unknown): Omit<TestAlarmOptions, 'by'> {
  const { state: given, ...options }: Fields = readFields(body, { state: 'text', reason: 'text' })
  const state = readState(given ?? '')
  if (state === undefined) throw ApiProblem.invalid({ field: 'state', expected: 'a state' })
  return { state, ...options }
}

/**
 * Budgets: GET /budgets, GET /budgets/:name, GET /budgets/:name/resets and POST /budgets/:name/reset for
 * admins, POST /budgets/:name/spend for services too. The history records the caller.
 */
import type { Hono } from 'hono'
import { describeRoute } from 'hono-openapi'
import { budgetResetView, budgetView, spentBudgetView } from '../../operations/budget-view.ts'
import type { Budgets } from '../../operations/budgets.ts'
import type { ApiEnv } from './api-env.ts'
import type { ApiSettings } from './api-options.ts'
import { authenticate } from './authenticate.ts'
import { isAdmin, isTrusted } from './caller.ts'
import { budgetOperations } from './openapi-budgets.ts'
import { readFields } from './read-fields.ts'
import { readJsonBody } from './read-json-body.ts'
import { readPage, readQuery } from './read-query.ts'

export interface BudgetContext {
  readonly budgets: Budgets
  readonly settings: ApiSettings
}

export function budgetRoutes(api: Hono<ApiEnv>, { budgets, settings }: BudgetContext): void {
  const { auth, ports } = settings
  const admins = authenticate(auth, ports.clock, isAdmin)
  const services = authenticate(auth, ports.clock, isTrusted)

  api.get('/budgets', describeRoute(budgetOperations.list), admins, async (c) => {
    const records = await budgets.list()
    return c.json({ budgets: records.map(budgetView) })
  })

  api.get('/budgets/:name', describeRoute(budgetOperations.read), admins, async (c) =>
    c.json(budgetView(await budgets.read(c.req.param('name')))),
  )

  api.get('/budgets/:name/resets', describeRoute(budgetOperations.resets), admins, async (c) => {
    const page = readPage(c.req.queries())
    const { items, next = null } = await budgets.history(c.req.param('name'), page)
    return c.json({ resets: items.map(budgetResetView), next })
  })

  api.post('/budgets/:name/reset', describeRoute(budgetOperations.reset), admins, async (c) => {
    const note = readQuery(c.req.queries(), ['note'])('note')
    const by = c.get('caller').signature
    const options = { by, ...(note !== undefined && { note }) }
    return c.json(budgetView(await budgets.reset(c.req.param('name'), options)))
  })

  api.post('/budgets/:name/spend', describeRoute(budgetOperations.spend), services, async (c) => {
    const body = await readJsonBody(c.req.raw, { ...settings, timers: ports.timers })
    // The store checks the amount, also a missing one.
    const { amount } = readFields(body, { amount: 'number' }) as { readonly amount: number }
    return c.json(spentBudgetView(await budgets.spend(c.req.param('name'), amount)))
  })
}

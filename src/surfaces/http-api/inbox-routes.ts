/**
 * Inboxes, for operators and admins: GET /inbox/:queue, GET /inbox/:queue/:id, POST /inbox/:queue/claim
 * and POST /inbox/:queue/:id/renew, note, resolve and return. The caller is the person who acts.
 */
import type { Context, Hono, MiddlewareHandler } from 'hono'
import { describeRoute } from 'hono-openapi'
import { isoTime } from '../../core/iso-time.ts'
import type { ClaimedItem, HandledItem, Inbox, InboxItem } from '../../operations/inbox.ts'
import { inboxCountsView, inboxEventView } from '../../operations/inbox-view.ts'
import type { ApiEnv } from './api-env.ts'
import { ApiProblem } from './api-problem.ts'
import { mayUseInboxes } from './caller.ts'
import { foundQueue, type InboxContext, type KnownInbox } from './inbox-context.ts'
import {
  type InboxAction,
  type InboxRequest,
  readInboxAction,
  readInboxList,
} from './inbox-request.ts'
import { inboxOperations } from './openapi-inbox.ts'
import { readJsonBody } from './read-json-body.ts'

/** Matches all inbox routes, for authentication. */
export const inboxPath = '/inbox/*'

export function inboxRoutes(api: Hono<ApiEnv>, context: InboxContext): void {
  const { settings } = context
  const limits = { ...settings, timers: settings.ports.timers }
  const bodyOf = (c: Context<ApiEnv>): Promise<unknown> => readJsonBody(c.req.raw, limits)
  api.use(inboxPath, operatorsOnly)

  api.get('/inbox/:queue', describeRoute(inboxOperations.list), async (c) => {
    const { by, options } = readInboxList(c.req.queries(), c.get('caller'))
    const { inbox, show } = context.find(c.req.param('queue'))
    const [{ items, next = null }, counts] = await foundQueue(
      Promise.all([inbox.list(options), inbox.counts({ by })]),
    )
    return c.json({ items: items.map(show), counts: inboxCountsView(counts), next })
  })

  api.get('/inbox/:queue/:id', describeRoute(inboxOperations.read), async (c) => {
    const { queue, id } = c.req.param()
    const { inbox, show } = context.find(queue)
    const [item, history] = await foundQueue(Promise.all([inbox.read(id), inbox.history(id)]))
    if (item === undefined && history.length === 0) throw new ApiProblem('item_not_found')
    return c.json({ item: item ? show(item) : null, history: history.map(inboxEventView) })
  })

  api.post('/inbox/:queue/claim', describeRoute(inboxOperations.claim), async (c) => {
    const request = readInboxAction('claim', await bodyOf(c), c.get('caller'))
    const known = context.find(c.req.param('queue'))
    const item = claimedItem(await foundQueue(known.inbox.claim(request)))
    return item === undefined ? c.body(null, 204) : c.json(known.show(item))
  })

  for (const action of itemActions) {
    api.post(`/inbox/:queue/:id/${action}`, describeRoute(inboxOperations[action]), async (c) => {
      const { queue = '', id = '' } = c.req.param()
      const request = readInboxAction(action, await bodyOf(c), c.get('caller'))
      const known = context.find(queue)
      return answer(c, known, await foundQueue(act[action](known.inbox, id, request)))
    })
  }
}

type ItemAction = Exclude<InboxAction, 'claim'>

const itemActions: readonly ItemAction[] = ['renew', 'note', 'resolve', 'release']

type Act = (inbox: Inbox, id: string, request: InboxRequest) => Promise<HandledItem>

const act: Readonly<Record<ItemAction, Act>> = {
  renew: (inbox, id, request) => inbox.renew(id, request),
  note: async (inbox, id, { by, note }) => {
    if (note === undefined) throw ApiProblem.invalid({ field: 'note', expected: 'a string' })
    return inbox.note(id, { by, note })
  },
  resolve: (inbox, id, request) => inbox.resolve(id, request),
  release: (inbox, id, request) => inbox.release(id, request),
}

const operatorsOnly: MiddlewareHandler<ApiEnv> = async (c, next) => {
  if (!mayUseInboxes(c.get('caller'))) throw new ApiProblem('forbidden')
  await next()
}

/** The item, or undefined if none is waiting. */
function claimedItem(result: ClaimedItem): InboxItem | undefined {
  switch (result.status) {
    case 'claimed':
      return result.item
    case 'none':
      return undefined
    case 'taken': {
      const { holder, until } = result
      throw new ApiProblem('item_taken', { members: { holder, until: isoTime(until) } })
    }
    case 'not_ready':
      throw new ApiProblem('item_not_ready', { members: { because: result.because } })
    case 'gone':
      throw new ApiProblem('item_not_found')
  }
}

function answer(c: Context<ApiEnv>, { show }: KnownInbox, result: HandledItem): Response {
  switch (result.status) {
    case 'done':
      return result.item === null ? c.body(null, 204) : c.json(show(result.item))
    case 'not_yours':
      throw new ApiProblem('claim_not_yours', { members: { holder: result.holder } })
    case 'gone':
      throw new ApiProblem('item_not_found')
    case 'lapsed':
    case 'stale':
      throw new ApiProblem('claim_over')
  }
}

/** Lists flows, newest first, and the units of one, in the order in which they were added; counts flows. */

import type { Page } from '../../backends/backend.ts'
import type {
  FlowCounts,
  FlowRecord,
  FlowStatus,
  ListFlows,
  ListUnits,
  UnitRecord,
  UnitState,
} from '../../backends/flow-store.ts'
import { numberedPage, numberOf } from '../numbered-pages.ts'
import { lookUp, query, upTo } from '../statements.ts'
import { gathered, inTurn, type Steps } from '../steps.ts'
import type { View } from '../transaction.ts'
import { type FlowRow, recordOf, requireFlow } from './flow-rows.ts'
import { done, type UnitRow } from './flow-units.ts'

const statuses: readonly FlowStatus[] = ['open', 'finalized', 'failed', 'cancelled']

/** In the order of their numbers in the store. */
const unitStates: readonly UnitState[] = ['pending', 'done', 'dead']

const sql = {
  // Names are few, and found by leaps from one to the next.
  firstName: query<{ name: string }>('SELECT name FROM flow WHERE name >= ? ORDER BY name LIMIT 1'),
  nameAfter: query<{ name: string }>('SELECT name FROM flow WHERE name > ? ORDER BY name LIMIT 1'),
  withStatus: query<FlowRow>(`
    SELECT * FROM flow /*sqlite INDEXED BY flow_by_status */
    WHERE name = ? AND status = ? AND number < ? ORDER BY number DESC ${upTo}`),
  overdue: query<FlowRow>(`
    SELECT * FROM flow /*sqlite INDEXED BY flow_overdue */
    WHERE overdue = 1 AND name = ? AND status = ? AND number < ? ORDER BY number DESC ${upTo}`),
  countOpen: query<{ count: number }>(`
    SELECT count(*) AS count FROM flow /*sqlite INDEXED BY flow_by_status */ WHERE name = ? AND status = 'open'`),
  // Few, so it does not matter that the status is looked up in the row.
  countOverdue: query<{ count: number }>(`
    SELECT count(*) AS count FROM flow /*sqlite INDEXED BY flow_overdue */
    WHERE overdue = 1 AND name = ? AND status = 'open'`),
  units: query<ListedUnit>(`
    SELECT flow_unit.*, message.id AS message_id
    FROM flow_unit /*sqlite INDEXED BY flow_unit_by_state */
    LEFT ${lookUp('message', 'message.sequence = flow_unit.message')}
    WHERE flow = ? AND flow_unit.state = ? AND number > ? ORDER BY number ${upTo}`),
}

export function* listFlows(view: View, request: ListFlows): Steps<Page<FlowRecord>> {
  const { prefix, status, overdue = false, after, limit } = request
  const before = after === undefined ? Number.MAX_SAFE_INTEGER : numberOf(after)
  const wanted = status === undefined ? statuses : [status]
  const listed = overdue ? sql.overdue : sql.withStatus
  const found = yield* gathered(yield* namesOf(view, prefix), (name) =>
    gathered(wanted, (one) => view.all(listed, name, one, before, limit + 1)),
  )
  const rows = found.toSorted((left, right) => right.number - left.number)
  const page = numberedPage(rows, limit, (row) => row)
  return { ...page, items: yield* inTurn(page.items, (row) => recordOf(view, row)) }
}

function* namesOf(view: View, prefix: string): Steps<readonly string[]> {
  const names: string[] = []
  let next = yield* view.one(sql.firstName, prefix)
  while (next?.name.startsWith(prefix)) {
    names.push(next.name)
    next = yield* view.one(sql.nameAfter, next.name)
  }
  return names
}

/** How many flows of each name are open, and how many of those are overdue; read from indexes alone. */
export function* countFlows(view: View): Steps<readonly FlowCounts[]> {
  return yield* inTurn(yield* namesOf(view, ''), function* (flow) {
    return {
      flow,
      open: (yield* view.one(sql.countOpen, flow))?.count ?? 0,
      overdue: (yield* view.one(sql.countOverdue, flow))?.count ?? 0,
    }
  })
}

interface ListedUnit extends UnitRow {
  /** Only of a message whose id does not follow from its sequence number. */
  readonly message_id: string | null
}

export function* listUnits(view: View, request: ListUnits): Steps<Page<UnitRecord>> {
  const { number } = yield* requireFlow(view, request)
  const { state, after, limit } = request
  const last = after === undefined ? 0 : numberOf(after)
  const wanted = state === undefined ? unitStates : [state]
  const found = yield* gathered(wanted, (one) =>
    view.all(sql.units, number, unitStates.indexOf(one), last, limit + 1),
  )
  const rows = found.toSorted((left, right) => left.number - right.number)
  return numberedPage(rows, limit, (row) => unitRecord(view, row))
}

function unitRecord(view: View, row: ListedUnit): UnitRecord {
  const { message, message_id } = row
  const hasMessage = message !== null && row.state !== done
  return {
    unit: row.id,
    state: unitStates[row.state] ?? 'pending',
    reason: row.reason,
    isStarted: row.started === 1,
    messageId: hasMessage ? (message_id ?? view.messageIds.of(message)) : null,
    markedAt: row.marked_at,
  }
}

/** Lists flows, newest first, and the units of one, in the order in which they were added. */

import type { Page } from '../../backend.ts'
import type {
  FlowRecord,
  FlowStatus,
  ListFlows,
  ListUnits,
  UnitRecord,
  UnitState,
} from '../../flow-store.ts'
import { numberedPage, numberOf } from '../driver/numbered-pages.ts'
import type { Session } from '../driver/session.ts'
import { query, upTo } from '../driver/statements.ts'
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
    SELECT * FROM flow INDEXED BY flow_by_status
    WHERE name = ? AND status = ? AND number < ? ORDER BY number DESC ${upTo}`),
  overdue: query<FlowRow>(`
    SELECT * FROM flow INDEXED BY flow_overdue
    WHERE overdue = 1 AND name = ? AND status = ? AND number < ? ORDER BY number DESC ${upTo}`),
  units: query<ListedUnit>(`
    SELECT flow_unit.*, message.id AS message_id
    FROM flow_unit INDEXED BY flow_unit_by_state
    LEFT JOIN message ON message.sequence = flow_unit.message
    WHERE flow = ? AND flow_unit.state = ? AND number > ? ORDER BY number ${upTo}`),
}

export function listFlows(session: Session, request: ListFlows, now: number): Page<FlowRecord> {
  const { prefix, status, overdue = false, after, limit } = request
  const before = after === undefined ? Number.MAX_SAFE_INTEGER : numberOf(after)
  const wanted = status === undefined ? statuses : [status]
  const rows = namesOf(session, prefix)
    .flatMap((name) =>
      wanted.flatMap((one) =>
        session.all(overdue ? sql.overdue : sql.withStatus, name, one, before, limit + 1),
      ),
    )
    .sort((left, right) => right.number - left.number)
  return numberedPage(rows, limit, (row) => recordOf(session, row, now))
}

export function namesOf(session: Session, prefix: string): readonly string[] {
  const names: string[] = []
  let next = session.one(sql.firstName, prefix)
  while (next?.name.startsWith(prefix)) {
    names.push(next.name)
    next = session.one(sql.nameAfter, next.name)
  }
  return names
}

interface ListedUnit extends UnitRow {
  /** Only of a message whose id does not follow from its sequence number. */
  readonly message_id: string | null
}

export function listUnits(session: Session, request: ListUnits): Page<UnitRecord> {
  const { number } = requireFlow(session, request)
  const { state, after, limit } = request
  const last = after === undefined ? 0 : numberOf(after)
  const wanted = state === undefined ? unitStates : [state]
  const rows = wanted
    .flatMap((one) => {
      const values = [number, unitStates.indexOf(one), last, limit + 1] as const
      return session.all(sql.units, ...values)
    })
    .sort((left, right) => left.number - right.number)
  return numberedPage(rows, limit, (row) => unitRecord(session, row))
}

function unitRecord(session: Session, row: ListedUnit): UnitRecord {
  const { message, message_id } = row
  const hasMessage = message !== null && row.state !== done
  return {
    unit: row.id,
    state: unitStates[row.state] ?? 'pending',
    reason: row.reason,
    isStarted: row.started === 1,
    messageId: hasMessage ? (message_id ?? session.messageIds.of(message)) : null,
    markedAt: row.marked_at,
  }
}

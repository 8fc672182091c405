/** Lists flows, newest first, and the units of one, in the order in which they were added. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
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
import { allRows, getRow, upTo } from '../driver/rows.ts'
import type { Session } from '../driver/session.ts'
import { type FlowRow, recordOf, requireFlow } from './flow-rows.ts'
import { done, type UnitRow } from './flow-units.ts'

const statuses: readonly FlowStatus[] = ['open', 'finalized', 'failed', 'cancelled']

/** In the order of their numbers in the store. */
const unitStates: readonly UnitState[] = ['pending', 'done', 'dead']

export interface FlowListingStatements {
  readonly firstName: StatementSync
  readonly nameAfter: StatementSync
  readonly withStatus: StatementSync
  readonly overdue: StatementSync
  readonly units: StatementSync
}

export function prepareFlowListing(db: DatabaseSync): FlowListingStatements {
  return {
    // Names are few, and found by leaps from one to the next.
    firstName: db.prepare('SELECT name FROM flow WHERE name >= ? ORDER BY name LIMIT 1'),
    nameAfter: db.prepare('SELECT name FROM flow WHERE name > ? ORDER BY name LIMIT 1'),
    withStatus: db.prepare(`
      SELECT * FROM flow INDEXED BY flow_by_status
      WHERE name = ? AND status = ? AND number < ? ORDER BY number DESC ${upTo}`),
    overdue: db.prepare(`
      SELECT * FROM flow INDEXED BY flow_overdue
      WHERE overdue = 1 AND name = ? AND status = ? AND number < ? ORDER BY number DESC ${upTo}`),
    units: db.prepare(`
      SELECT flow_unit.*, message.id AS message_id
      FROM flow_unit INDEXED BY flow_unit_by_state
      LEFT JOIN message ON message.sequence = flow_unit.message
      WHERE flow = ? AND flow_unit.state = ? AND number > ? ORDER BY number ${upTo}`),
  }
}

export function listFlows(session: Session, request: ListFlows, now: number): Page<FlowRecord> {
  const { prefix, status, overdue = false, after, limit } = request
  const { withStatus, overdue: overdueOnly } = session.flowListing
  const before = after === undefined ? Number.MAX_SAFE_INTEGER : numberOf(after)
  const wanted = status === undefined ? statuses : [status]
  const rows = namesOf(session, prefix)
    .flatMap((name) =>
      wanted.flatMap((one) =>
        allRows<FlowRow>(overdue ? overdueOnly : withStatus, name, one, before, limit + 1),
      ),
    )
    .sort((left, right) => right.number - left.number)
  return numberedPage(rows, limit, (row) => recordOf(session, row, now))
}

export function namesOf(session: Session, prefix: string): readonly string[] {
  const names: string[] = []
  const { firstName, nameAfter } = session.flowListing
  let next = getRow<{ name: string }>(firstName, prefix)
  while (next?.name.startsWith(prefix)) {
    names.push(next.name)
    next = getRow<{ name: string }>(nameAfter, next.name)
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
      return allRows<ListedUnit>(session.flowListing.units, ...values)
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

/** How many flows are open and how many of them are late, name by name; read off indexes alone. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { FlowCounts } from '../../flow-store.ts'
import { getRow } from '../driver/rows.ts'
import type { Session } from '../driver/session.ts'
import { namesOf } from './flow-listing.ts'

export interface FlowCountStatements {
  readonly open: StatementSync
  readonly overdue: StatementSync
}

export function prepareFlowCounts(db: DatabaseSync): FlowCountStatements {
  return {
    open: db.prepare(`
      SELECT count(*) AS count FROM flow INDEXED BY flow_by_status WHERE name = ? AND status = 'open'`),
    // Few, so it does not matter that the status is looked up in the row.
    overdue: db.prepare(`
      SELECT count(*) AS count FROM flow INDEXED BY flow_overdue
      WHERE overdue = 1 AND name = ? AND status = 'open'`),
  }
}

export function countFlows(session: Session): readonly FlowCounts[] {
  const { open, overdue } = session.flowCounts
  const count = (statement: StatementSync, name: string): number =>
    getRow<{ count: number }>(statement, name)?.count ?? 0
  return namesOf(session, '').map((flow) => ({
    flow,
    open: count(open, flow),
    overdue: count(overdue, flow),
  }))
}

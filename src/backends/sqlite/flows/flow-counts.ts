/** How many flows are open and how many of them are late, name by name; read off indexes alone. */

import type { FlowCounts } from '../../flow-store.ts'
import type { Session } from '../driver/session.ts'
import { query } from '../driver/statements.ts'
import { namesOf } from './flow-listing.ts'

const sql = {
  open: query<{ count: number }>(`
    SELECT count(*) AS count FROM flow INDEXED BY flow_by_status WHERE name = ? AND status = 'open'`),
  // Few, so it does not matter that the status is looked up in the row.
  overdue: query<{ count: number }>(`
    SELECT count(*) AS count FROM flow INDEXED BY flow_overdue
    WHERE overdue = 1 AND name = ? AND status = 'open'`),
}

export function countFlows(session: Session): readonly FlowCounts[] {
  return namesOf(session, '').map((flow) => ({
    flow,
    open: session.one(sql.open, flow)?.count ?? 0,
    overdue: session.one(sql.overdue, flow)?.count ?? 0,
  }))
}

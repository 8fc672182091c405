/** The rows of flows, and their records. */

import type {
  FlowFailure,
  FlowKey,
  FlowRecord,
  FlowStatus,
  OpenFlow,
  UnitFailurePolicy,
  UnitKey,
} from '../../backends/flow-store.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { spentOnFlow } from '../budgets/spending.ts'
import { query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import { isTransaction, type View } from '../transaction.ts'
import { dead } from './flow-units.ts'

export interface FlowRow {
  readonly number: number
  readonly name: string
  readonly id: string
  readonly status: FlowStatus
  readonly sealed: 0 | 1
  readonly policy: UnitFailurePolicy
  readonly on_deadline: NonNullable<OpenFlow['onDeadline']>
  readonly keeps_work: 0 | 1
  readonly in_order: 0 | 1
  readonly keep_ms: number
  readonly parent: number | null
  readonly total: number
  readonly done: number
  readonly dead: number
  readonly failed_unit: string | null
  readonly failure: string | null
  readonly opened_at: number
  readonly ended_at: number | null
  readonly deadline_at: number | null
  readonly overdue: 0 | 1
  readonly end_message: 'finalize' | 'failed' | null
  readonly swept: number
}

export type FlowText = 'finalize' | 'failed' | 'parent' | 'data'

const sql = {
  readText: query<{ text: string }>('SELECT text FROM flow_text WHERE flow = ? AND kind = ?'),
  byId: query<FlowRow>('SELECT * FROM flow WHERE name = ? AND id = ?'),
  take: query<FlowRow>(`
    SELECT * FROM flow WHERE name = ? AND id = ? /*postgres FOR NO KEY UPDATE */`),
  byNumber: query<FlowRow>('SELECT * FROM flow WHERE number = ?'),
  firstDead: query<FlowFailure>(`
    SELECT id AS unit, reason FROM flow_unit
    WHERE flow = ? AND state = ${dead} ORDER BY number LIMIT 1`),
}

export function* findFlow(view: View, { flow, id }: FlowKey): Steps<FlowRow | undefined> {
  return yield* view.one(sql.byId, flow, id)
}

/** In a transaction, the flow is for it alone. */
export function* requireFlow(view: View, key: FlowKey): Steps<FlowRow> {
  const row = isTransaction(view)
    ? yield* view.one(sql.take, key.flow, key.id)
    : yield* findFlow(view, key)
  if (row === undefined) throw new MillraceError('flow_not_found')
  return row
}

export function* readFlow(view: View, key: FlowKey): Steps<FlowRecord | undefined> {
  const row = yield* findFlow(view, key)
  return row && (yield* recordOf(view, row))
}

export function* flowByNumber(view: View, number: number): Steps<FlowRow | undefined> {
  return yield* view.one(sql.byNumber, number)
}

export function* readText(view: View, flow: number, kind: FlowText): Steps<string | undefined> {
  return (yield* view.one(sql.readText, flow, kind))?.text
}

/** Reads the row again, since it may have changed. */
export function* flowRecord(view: View, number: number): Steps<FlowRecord> {
  const row = yield* flowByNumber(view, number)
  if (row === undefined) throw new MillraceError('flow_not_found')
  return yield* recordOf(view, row)
}

export function* recordOf(view: View, row: FlowRow): Steps<FlowRecord> {
  const { total, done, dead: given, deadline_at: deadlineAt } = row
  const isOpen = row.status === 'open'
  return {
    flow: row.name,
    id: row.id,
    status: row.status,
    isSealed: row.sealed === 1,
    units: { total, done, dead: given, pending: total - done - given },
    failure: yield* failureOf(view, row),
    parent: yield* parentOf(view, row),
    openedAt: row.opened_at,
    endedAt: row.ended_at,
    deadlineAt,
    isOverdue: isOpen && deadlineAt !== null && deadlineAt <= view.now,
    spent: yield* spentOnFlow(view, row.number),
    data: (yield* readText(view, row.number, 'data')) ?? null,
  }
}

function* failureOf(view: View, row: FlowRow): Steps<FlowFailure | null> {
  if (row.end_message === 'finalize') {
    return { unit: null, reason: 'The queue does not take the message of its end.' }
  }
  if (row.status === 'failed') return { unit: row.failed_unit, reason: row.failure }
  if (row.status !== 'open' || row.dead === 0) return null
  const first = yield* view.one(sql.firstDead, row.number)
  return first === undefined ? null : { unit: first.unit, reason: first.reason }
}

/** The key is kept as text, because the flow that it names may be gone before this one. */
function* parentOf(view: View, { number }: FlowRow): Steps<UnitKey | null> {
  const text = yield* readText(view, number, 'parent')
  return text === undefined ? null : JSON.parse(text)
}

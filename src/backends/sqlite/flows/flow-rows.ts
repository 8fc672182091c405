/** The rows of flows, and what others read of them. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { MillraceError } from '../../../core/millrace-error.ts'
import type {
  FlowFailure,
  FlowKey,
  FlowRecord,
  FlowStatus,
  OpenFlow,
  UnitFailurePolicy,
  UnitKey,
} from '../../flow-store.ts'
import { getRow } from '../driver/rows.ts'
import type { Session } from '../driver/session.ts'
import { dead, pending } from './flow-units.ts'

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
  readonly owes: 'finalize' | 'failed' | null
  readonly swept: number
}

export type FlowText = 'finalize' | 'failed' | 'parent' | 'data'

export interface FlowStatements {
  readonly insert: StatementSync
  readonly insertText: StatementSync
  readonly readText: StatementSync
  readonly byId: StatementSync
  readonly byNumber: StatementSync
  readonly seal: StatementSync
  readonly added: StatementSync
  readonly count: StatementSync
  readonly finalize: StatementSync
  readonly finalizeAnyway: StatementSync
  readonly failByUnit: StatementSync
  readonly fail: StatementSync
  readonly cancel: StatementSync
  readonly reopen: StatementSync
  readonly owe: StatementSync
  readonly paid: StatementSync
  readonly firstDead: StatementSync
}

export function prepareFlows(db: DatabaseSync): FlowStatements {
  const none = (state: number): string => `
    NOT EXISTS (SELECT 1 FROM flow_unit WHERE flow_unit.flow = flow.number AND state = ${state})`
  const end = (status: FlowStatus): string => `
    UPDATE flow SET status = '${status}', ended_at = ?, overdue = 0`
  const fail = `${end('failed')}, failed_unit = ?, failure = ?, look_at = ? + keep_ms`
  return {
    insert: db.prepare(`
      INSERT INTO flow (
        number, name, id, status, sealed, policy, on_deadline, keeps_work, in_order, keep_ms, parent,
        parent_flow, total, done, dead, opened_at, deadline_at, overdue, look_at, swept
      ) VALUES (?, ?, ?, 'open', 0, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, ?, ?, 0, ?, 0)`),
    insertText: db.prepare('INSERT INTO flow_text (flow, kind, text) VALUES (?, ?, ?)'),
    readText: db.prepare('SELECT text FROM flow_text WHERE flow = ? AND kind = ?'),
    byId: db.prepare('SELECT * FROM flow WHERE name = ? AND id = ?'),
    byNumber: db.prepare('SELECT * FROM flow WHERE number = ?'),
    seal: db.prepare(`UPDATE flow SET sealed = 1 WHERE number = ? AND status = 'open'`),
    added: db.prepare('UPDATE flow SET total = total + ? WHERE number = ?'),
    count: db.prepare('UPDATE flow SET done = done + ?, dead = dead + ? WHERE number = ?'),
    // The one statement that ends a flow whose units have ended; only the last of them can do it.
    finalize: db.prepare(`
      ${end('finalized')}, look_at = ? + keep_ms
      WHERE number = ? AND status = 'open' AND sealed = 1 AND ${none(pending)}
        AND (policy = 'finalize' OR ${none(dead)})`),
    finalizeAnyway: db.prepare(`
      ${end('finalized')}, sealed = 1, look_at = ? + keep_ms WHERE number = ? AND status = 'open'`),
    failByUnit: db.prepare(`${fail} WHERE number = ? AND status = 'open' AND policy = 'fail'`),
    fail: db.prepare(`
      ${end('failed')}, failure = ?, look_at = ? + keep_ms WHERE number = ? AND status = 'open'`),
    // Upkeep looks at once: there are messages to take back.
    cancel: db.prepare(`${end('cancelled')}, look_at = ? WHERE number = ? AND status = 'open'`),
    reopen: db.prepare(`
      UPDATE flow SET
        status = 'open', ended_at = NULL, failed_unit = NULL, failure = NULL, owes = NULL,
        done = done + ?, dead = dead + ?, overdue = coalesce(deadline_at <= ?, 0),
        look_at = CASE WHEN deadline_at > ? THEN deadline_at END
      WHERE number = ? AND status IN ('open', 'failed')`),
    owe: db.prepare('UPDATE flow SET owes = ?, look_at = ? WHERE number = ?'),
    paid: db.prepare('UPDATE flow SET owes = NULL, look_at = ended_at + keep_ms WHERE number = ?'),
    firstDead: db.prepare(`
      SELECT id AS unit, reason FROM flow_unit
      WHERE flow = ? AND state = ${dead} ORDER BY number LIMIT 1`),
  }
}

export function findFlow({ flows }: Session, { flow, id }: FlowKey): FlowRow | undefined {
  return getRow<FlowRow>(flows.byId, flow, id)
}

export function requireFlow(session: Session, key: FlowKey): FlowRow {
  const row = findFlow(session, key)
  if (row === undefined) throw new MillraceError('flow_not_found')
  return row
}

export function flowByNumber({ flows }: Session, number: number): FlowRow | undefined {
  return getRow<FlowRow>(flows.byNumber, number)
}

export function readText({ flows }: Session, flow: number, kind: FlowText): string | undefined {
  return getRow<{ text: string }>(flows.readText, flow, kind)?.text
}

/** What a flow is like now, whatever was known of its row before. */
export function flowRecord(session: Session, number: number, now: number): FlowRecord {
  const row = flowByNumber(session, number)
  if (row === undefined) throw new MillraceError('flow_not_found')
  return recordOf(session, row, now)
}

export function recordOf(session: Session, row: FlowRow, now: number): FlowRecord {
  const { total, done, dead: given, deadline_at: deadlineAt } = row
  const isOpen = row.status === 'open'
  return {
    flow: row.name,
    id: row.id,
    status: row.status,
    isSealed: row.sealed === 1,
    units: { total, done, dead: given, pending: total - done - given },
    failure: failureOf(session, row),
    parent: parentOf(session, row),
    openedAt: row.opened_at,
    endedAt: row.ended_at,
    deadlineAt,
    isOverdue: isOpen && deadlineAt !== null && deadlineAt <= now,
    data: readText(session, row.number, 'data') ?? null,
  }
}

function failureOf(session: Session, row: FlowRow): FlowFailure | null {
  if (row.owes === 'finalize') {
    return { unit: null, reason: 'The queue does not take the message of its end.' }
  }
  if (row.status === 'failed') return { unit: row.failed_unit, reason: row.failure }
  if (row.status !== 'open' || row.dead === 0) return null
  const first = getRow<FlowFailure>(session.flows.firstDead, row.number)
  return first === undefined ? null : { unit: first.unit, reason: first.reason }
}

/** The key is kept as text, because the flow that it names may be gone before this one. */
function parentOf(session: Session, { number }: FlowRow): UnitKey | null {
  const text = readText(session, number, 'parent')
  return text === undefined ? null : JSON.parse(text)
}

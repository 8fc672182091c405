/**
 * What people did with messages, written down with each thing they do, and the end of claims that
 * nobody ended: a lapse is written down by the commit in which the message waits again.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { handoffEventsMax, handoffHistoryMs } from '../../../core/limits.ts'
import type { HandoffEvent, HandoffEventName, InboxRecord } from '../../inbox-store.ts'
import { allRows, getRow } from '../driver/rows.ts'
import type { Session } from '../driver/session.ts'
import type { StoreTransaction } from '../driver/transaction.ts'

/** Rows that one sweep looks at. */
export const handoffSlice = 500

export interface HandoffEventStatements {
  readonly claimOf: StatementSync
  readonly dropClaim: StatementSync
  readonly add: StatementSync
  readonly trim: StatementSync
  readonly latest: StatementSync
  readonly moveRenewal: StatementSync
  readonly ofMessage: StatementSync
  readonly countNotes: StatementSync
  readonly latestOfPerson: StatementSync
  readonly touchInbox: StatementSync
  readonly inboxes: StatementSync
  readonly forget: StatementSync
  readonly forgetInboxes: StatementSync
}

export function prepareHandoffEvents(db: DatabaseSync): HandoffEventStatements {
  const ofMessage = 'FROM handoff_event WHERE queue = ? AND message = ?'
  return {
    claimOf: db.prepare('SELECT * FROM handoff_claim WHERE sequence = ?'),
    dropClaim: db.prepare('DELETE FROM handoff_claim WHERE sequence = ?'),
    add: db.prepare(`
      INSERT INTO handoff_event (queue, message, event, by, note, at) VALUES (?, ?, ?, ?, ?, ?)`),
    // Notes are what somebody wanted to be read: they have a bound of their own, and stay.
    trim: db.prepare(`
      DELETE FROM handoff_event WHERE number IN (
        SELECT number ${ofMessage} AND event <> 'noted'
        ORDER BY number DESC LIMIT -1 OFFSET ${handoffEventsMax}
      )`),
    latest: db.prepare(`SELECT number, event, by ${ofMessage} ORDER BY number DESC LIMIT 1`),
    moveRenewal: db.prepare('UPDATE handoff_event SET at = ? WHERE number = ?'),
    ofMessage: db.prepare(`SELECT event, at, by, note ${ofMessage} ORDER BY number`),
    countNotes: db.prepare(`SELECT count(*) AS count ${ofMessage} AND event = 'noted'`),
    latestOfPerson: db.prepare(`
      SELECT event ${ofMessage} AND by = ? AND event <> 'noted' ORDER BY number DESC LIMIT 1`),
    touchInbox: db.prepare(`
      INSERT INTO handoff_inbox (queue, last_at) VALUES (?, ?)
      ON CONFLICT DO UPDATE SET last_at = max(last_at, excluded.last_at)`),
    inboxes: db.prepare(`
      SELECT handoff_inbox.queue AS queue, last_at AS lastAt
      FROM handoff_inbox JOIN queue ON queue.name = handoff_inbox.queue
      ORDER BY handoff_inbox.queue`),
    forget: db.prepare(`
      DELETE FROM handoff_event WHERE number IN (
        SELECT number FROM handoff_event WHERE at <= ? LIMIT ${handoffSlice}
      )`),
    forgetInboxes: db.prepare('DELETE FROM handoff_inbox WHERE last_at <= ?'),
  }
}

/** A claim as it was made. Whether it is live, its message says. */
export interface ClaimRow {
  readonly sequence: number
  readonly generation: number
  readonly queue: string
  readonly message: string
  readonly token: number
  readonly by: string
  readonly claimed_at: number
  readonly until: number
}

export interface NewHandoffEvent {
  readonly queue: string
  /** The id of the message. */
  readonly message: string
  readonly event: HandoffEventName
  readonly by: string
  readonly note?: string | undefined
  readonly at: number
}

export function noteHandoff(tx: StoreTransaction, entry: NewHandoffEvent): void {
  const { queue, message, event, by, note = null, at } = entry
  const { add, trim, touchInbox } = tx.session.handoffEvents
  add.run(queue, message, event, by, note, at)
  if (event !== 'noted') trim.run(queue, message)
  touchInbox.run(queue, at)
  tx.wroteRow()
}

/** Somebody who keeps a claim for hours by renewing it every minute leaves one entry. */
export function noteRenewal(tx: StoreTransaction, entry: Omit<NewHandoffEvent, 'event'>): void {
  const { queue, message, by, at } = entry
  const { latest, moveRenewal, touchInbox } = tx.session.handoffEvents
  const last = getRow<{ number: number; event: HandoffEventName; by: string }>(
    latest,
    queue,
    message,
  )
  if (last?.event !== 'renewed' || last.by !== by) {
    noteHandoff(tx, { ...entry, event: 'renewed' })
    return
  }
  moveRenewal.run(at, last.number)
  touchInbox.run(queue, at)
  tx.wroteRow()
}

/** A lease has run out and its message waits again: if a person had it, that is written down. */
export function leaseLapsed(
  tx: StoreTransaction,
  { sequence, token }: { readonly sequence: number; readonly token: number },
  at: number,
): void {
  const claim = claimOf(tx.session, sequence)
  if (claim?.token === token) endClaim(tx, claim, { event: 'lapsed', at })
}

export function claimOf({ handoffEvents }: Session, sequence: number): ClaimRow | undefined {
  return getRow<ClaimRow>(handoffEvents.claimOf, sequence)
}

export function endClaim(
  tx: StoreTransaction,
  { sequence, queue, message, by }: ClaimRow,
  end: Pick<NewHandoffEvent, 'event' | 'note' | 'at'>,
): void {
  tx.session.handoffEvents.dropClaim.run(sequence)
  noteHandoff(tx, { queue, message, by, ...end })
}

export function eventsOf(
  { handoffEvents }: Session,
  { queue, id }: { readonly queue: string; readonly id: string },
): readonly HandoffEvent[] {
  return allRows<HandoffEvent>(handoffEvents.ofMessage, queue, id).map((row) => ({ ...row }))
}

export function notesOf({ handoffEvents }: Session, queue: string, id: string): number {
  return getRow<{ count: number }>(handoffEvents.countNotes, queue, id)?.count ?? 0
}

/** Whether the last that this person had of the message was a claim that ran out. */
export function hasLapsed(
  { handoffEvents }: Session,
  { queue, id, by }: { readonly queue: string; readonly id: string; readonly by: string },
): boolean {
  const { latestOfPerson } = handoffEvents
  const last = getRow<{ event: HandoffEventName }>(latestOfPerson, queue, id, by)
  return last?.event === 'lapsed'
}

export function inboxes({ handoffEvents }: Session): readonly InboxRecord[] {
  return allRows<InboxRecord>(handoffEvents.inboxes).map((row) => ({ ...row }))
}

/** Removes a slice of what was kept long enough; the answer is how much it was. */
export function forgetHandoffEvents(tx: StoreTransaction): number {
  const { forget, forgetInboxes } = tx.session.handoffEvents
  const cutoff = tx.now - handoffHistoryMs
  const forgotten = Number(forget.run(cutoff).changes)
  if (forgotten > 0) tx.wroteRow()
  if (forgotten > 0 && Number(forgetInboxes.run(cutoff).changes) > 0) tx.wroteRow()
  return forgotten
}

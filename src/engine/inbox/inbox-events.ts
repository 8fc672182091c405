/**
 * The history of an inbox. Each action is recorded in its own commit. The lapse of a claim is recorded by
 * the commit in which the message waits again.
 */

import type { InboxEvent, InboxEventName, InboxRecord } from '../../backends/inbox-store.ts'
import { inboxEventsMax, inboxHistoryMs } from '../../core/limits.ts'
import { among, change, greatest, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'

/** Rows that one sweep looks at. */
export const inboxSlice = 500

const ofMessage = 'FROM inbox_event WHERE queue = ? AND message = ?'

const sql = {
  claimOf: query<ClaimRow>('SELECT * FROM inbox_claim WHERE sequence = ?'),
  dropClaim: change('DELETE FROM inbox_claim WHERE sequence = ?'),
  add: change(`
    INSERT INTO inbox_event (queue, message, event, by, note, at) VALUES (?, ?, ?, ?, ?, ?)`),
  // Notes are meant to be read: they have their own bound, and stay.
  trim: change(`
    DELETE FROM inbox_event WHERE ${among(
      'number',
      `${ofMessage} AND event <> 'noted'
      ORDER BY number DESC LIMIT 9000000000000000 OFFSET ${inboxEventsMax}`,
    )}`),
  latest: query<{ number: number; event: InboxEventName; by: string }>(
    `SELECT number, event, by ${ofMessage} ORDER BY number DESC LIMIT 1`,
  ),
  moveRenewal: change('UPDATE inbox_event SET at = ? WHERE number = ?'),
  ofMessage: query<InboxEvent>(`SELECT event, at, by, note ${ofMessage} ORDER BY number`),
  countNotes: query<{ count: number }>(`SELECT count(*) AS count ${ofMessage} AND event = 'noted'`),
  latestOfPerson: query<{ event: InboxEventName }>(`
    SELECT event ${ofMessage} AND by = ? AND event <> 'noted' ORDER BY number DESC LIMIT 1`),
  touchInbox: change(`
    INSERT INTO inbox_queue (queue, last_at) VALUES (?, ?)
    ON CONFLICT (queue) DO UPDATE SET
      last_at = ${greatest}(inbox_queue.last_at, excluded.last_at)`),
  inboxes: query<InboxRecord>(`
    SELECT inbox_queue.queue AS queue, last_at AS "lastAt"
    FROM inbox_queue JOIN queue ON queue.name = inbox_queue.queue
    ORDER BY inbox_queue.queue`),
  forget: change(`
    DELETE FROM inbox_event
    WHERE ${among('number', `FROM inbox_event WHERE at <= ? LIMIT ${inboxSlice}`)}`),
  forgetInboxes: change('DELETE FROM inbox_queue WHERE last_at <= ?'),
}

/** A claim as it was made. The row of its message shows whether it is live. */
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

export interface NewInboxEvent {
  readonly queue: string
  /** The id of the message. */
  readonly message: string
  readonly event: InboxEventName
  readonly by: string
  readonly note?: string | undefined
  readonly at: number
}

export function* noteInboxEvent(tx: Transaction, entry: NewInboxEvent): Steps<void> {
  const { queue, message, event, by, note = null, at } = entry
  yield* tx.run(sql.add, queue, message, event, by, note, at)
  if (event !== 'noted') yield* tx.run(sql.trim, queue, message)
  yield* tx.run(sql.touchInbox, queue, at)
  tx.wroteRow()
}

/** A claim that is renewed every minute for hours leaves one entry. */
export function* noteRenewal(tx: Transaction, entry: Omit<NewInboxEvent, 'event'>): Steps<void> {
  const { queue, message, by, at } = entry
  const last = yield* tx.one(sql.latest, queue, message)
  if (last?.event !== 'renewed' || last.by !== by) {
    yield* noteInboxEvent(tx, { ...entry, event: 'renewed' })
    return
  }
  yield* tx.run(sql.moveRenewal, at, last.number)
  yield* tx.run(sql.touchInbox, queue, at)
  tx.wroteRow()
}

/** A lease has run out and its message waits again: if a person had it, that is recorded. */
export function* leaseLapsed(
  tx: Transaction,
  { sequence, token }: { readonly sequence: number; readonly token: number },
  at: number,
): Steps<void> {
  const claim = yield* claimOf(tx, sequence)
  if (claim?.token === token) yield* endClaim(tx, claim, { event: 'lapsed', at })
}

export function* claimOf(view: View, sequence: number): Steps<ClaimRow | undefined> {
  return yield* view.one(sql.claimOf, sequence)
}

export function* endClaim(
  tx: Transaction,
  { sequence, queue, message, by }: ClaimRow,
  end: Pick<NewInboxEvent, 'event' | 'note' | 'at'>,
): Steps<void> {
  yield* tx.run(sql.dropClaim, sequence)
  yield* noteInboxEvent(tx, { queue, message, by, ...end })
}

export function* eventsOf(
  view: View,
  { queue, id }: { readonly queue: string; readonly id: string },
): Steps<readonly InboxEvent[]> {
  return (yield* view.all(sql.ofMessage, queue, id)).map((row) => ({ ...row }))
}

export function* notesOf(view: View, queue: string, id: string): Steps<number> {
  return (yield* view.one(sql.countNotes, queue, id))?.count ?? 0
}

/** Whether the last that this person had of the message was a claim that ran out. */
export function* hasLapsed(
  view: View,
  { queue, id, by }: { readonly queue: string; readonly id: string; readonly by: string },
): Steps<boolean> {
  const last = yield* view.one(sql.latestOfPerson, queue, id, by)
  return last?.event === 'lapsed'
}

export function* listInboxes(view: View): Steps<readonly InboxRecord[]> {
  return (yield* view.all(sql.inboxes)).map((row) => ({ ...row }))
}

/** Removes a slice of what was kept long enough; returns how much it was. */
export function* forgetInboxEvents(tx: Transaction): Steps<number> {
  const cutoff = tx.now - inboxHistoryMs
  const forgotten = Number(yield* tx.changes(sql.forget, cutoff))
  if (forgotten > 0) tx.wroteRow()
  if (forgotten > 0 && Number(yield* tx.changes(sql.forgetInboxes, cutoff)) > 0) tx.wroteRow()
  return forgotten
}

/**
 * Messages that people claim: reads them, and ends claims. A claim is a lease, so every change of a
 * message goes through the statements that compare tokens.
 */

import { inboxNotesMax, limits } from '../../../core/limits.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import { formatReceipt } from '../../../core/receipt.ts'
import type { Outcome } from '../../backend.ts'
import type {
  EndInboxItem,
  InboxEvent,
  InboxItemId,
  InboxItemRecord,
  InboxItemState,
  InboxResult,
  NoteInboxItem,
  RenewInboxItem,
  ResolveInboxItem,
} from '../../inbox-store.ts'
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction, StoreView } from '../driver/transaction.ts'
import { endAllDue } from '../messages/elapsed-time.ts'
import {
  delayed,
  leased,
  type MessageRow,
  messageColumns,
  peekedFromRow,
} from '../messages/message-rows.ts'
import { extendLeases, settleLeases } from '../messages/settling.ts'
import type { Queue } from '../queues/queue-cache.ts'
import {
  type ClaimRow,
  claimOf,
  endClaim,
  eventsOf,
  hasLapsed,
  inboxSlice,
  noteInboxEvent,
  noteRenewal,
  notesOf,
} from './inbox-events.ts'

const sql = {
  find: query<MessageRow>(
    `SELECT ${messageColumns} FROM message WHERE sequence = ? AND generation = ?`,
  ),
  // Few messages have an id of their own, and those lie in FIFO queues, in which all have a group.
  findById: query<MessageRow>(`
    SELECT ${messageColumns} FROM message INDEXED BY message_in_group
    WHERE generation = ? AND group_name IS NOT NULL AND id = ?`),
  prolong: change('UPDATE inbox_claim SET until = ? WHERE sequence = ? AND token = ?'),
  due: query<ClaimRow>(`
    SELECT * FROM inbox_claim WHERE until <= ? ORDER BY until LIMIT ${inboxSlice}`),
}

/** The queue, after its lapsed leases, delays and retention were applied. */
export function inboxOf(tx: StoreTransaction, name: string): Queue {
  const queue = tx.queue(name)
  endAllDue(tx, queue)
  return queue
}

export function findMessage(
  view: StoreView,
  { generation, settings }: Queue,
  id: string,
): MessageRow | undefined {
  const sequence = view.session.messageIds.sequenceOf(id)
  const row = sequence && view.one(sql.find, sequence, generation)
  if (row && (row.id === null || row.id === id)) return row
  return settings.type === 'fifo' ? view.one(sql.findById, generation, id) : undefined
}

/** The claim under which a message is held, if it is held by a person. */
export function liveClaim(
  view: StoreView,
  { sequence, state, token }: MessageRow,
): ClaimRow | undefined {
  if (state !== leased) return undefined
  const claim = claimOf(view, sequence)
  return claim?.token === token ? claim : undefined
}

export function recordOf(tx: StoreTransaction, queue: Queue, row: MessageRow): InboxItemRecord {
  const claim = liveClaim(tx, row)
  const message = peekedFromRow(row, tx.session)
  return {
    message,
    state: stateOf(row, claim),
    claim: claim
      ? { by: claim.by, at: claim.claimed_at, until: leaseEnd(row), token: claim.token }
      : null,
    notes: notesOf(tx, queue.name, message.id),
  }
}

function stateOf({ state }: MessageRow, claim: ClaimRow | undefined): InboxItemState {
  if (state === delayed) return 'delayed'
  if (state !== leased) return 'waiting'
  return claim === undefined ? 'leased' : 'claimed'
}

/** When the lease of a message ends, whether or not its retention ends before that. */
export function leaseEnd({ held_until, due_at }: MessageRow): number {
  return held_until ?? due_at
}

/** How long a claim lasts. A queue that hides nothing would give out claims that end at once. */
export function leaseMsOf({ settings }: Queue, { leaseMs }: { readonly leaseMs?: number }): number {
  return leaseMs ?? Math.max(settings.visibilityMs, limits.inboxLeaseMs.min)
}

export function readInboxMessage(
  tx: StoreTransaction,
  request: InboxItemId,
): InboxItemRecord | undefined {
  const queue = inboxOf(tx, request.queue)
  const row = findMessage(tx, queue, request.id)
  return row && recordOf(tx, queue, row)
}

export function inboxHistory(tx: StoreTransaction, request: InboxItemId): readonly InboxEvent[] {
  const queue = inboxOf(tx, request.queue)
  const sequence = tx.session.messageIds.sequenceOf(request.id)
  const claim = sequence && claimOf(tx, sequence)
  if (claim) endIfGone(tx, claim)
  return eventsOf(tx, { queue: queue.name, id: request.id })
}

export function renewClaim(tx: StoreTransaction, request: RenewInboxItem): InboxResult {
  const held = heldBy(tx, request)
  if ('status' in held) return held
  const { queue, claim } = held
  const visibilityMs = leaseMsOf(queue, request)
  const receipt = receiptOf(queue, claim)
  const [result] = extendLeases(tx, { queue: queue.name, leases: [{ receipt, visibilityMs }] })
  if (result?.status === 'refused') throw renamed(result.error)
  if (result?.status !== 'extended') return { status: result?.status ?? 'stale' }
  tx.run(sql.prolong, result.leaseExpiresAt, claim.sequence, claim.token)
  noteRenewal(tx, { queue: queue.name, message: claim.message, by: claim.by, at: tx.now })
  return doneWith(tx, queue, claim)
}

export function noteOnMessage(tx: StoreTransaction, request: NoteInboxItem): InboxResult {
  const { id, by, note } = request
  const queue = inboxOf(tx, request.queue)
  const row = findMessage(tx, queue, id)
  if (row === undefined) return { status: 'gone' }
  if (notesOf(tx, queue.name, id) >= inboxNotesMax) {
    const allowed = `at most ${inboxNotesMax} notes on a message`
    throw MillraceError.invalid([{ field: 'note', given: 'one more', allowed }])
  }
  noteInboxEvent(tx, { queue: queue.name, message: id, event: 'noted', by, note, at: tx.now })
  return { status: 'done', item: recordOf(tx, queue, row) }
}

export function resolveMessage(tx: StoreTransaction, request: ResolveInboxItem): InboxResult {
  return settle(tx, request, { kind: 'acknowledge' }, 'resolved')
}

export function releaseMessage(tx: StoreTransaction, request: EndInboxItem): InboxResult {
  return settle(tx, request, { kind: 'release' }, 'released')
}

/** Settles the message as any receiver does, with all effects. */
function settle(
  tx: StoreTransaction,
  request: ResolveInboxItem,
  outcome: Outcome,
  event: 'resolved' | 'released',
): InboxResult {
  const held = heldBy(tx, request)
  if ('status' in held) return held
  const { queue, claim } = held
  const { emits = [], note } = request
  const settlement = { receipt: receiptOf(queue, claim), outcome, emits }
  const [result] = settleLeases(tx, { queue: queue.name, settlements: [settlement] })
  if (result?.status === 'refused') throw result.error
  if (result?.status !== 'settled') return { status: result?.status ?? 'stale' }
  endClaim(tx, claim, { event, note, at: tx.now })
  return doneWith(tx, queue, claim)
}

interface Held {
  readonly queue: Queue
  readonly claim: ClaimRow
}

/** The claim that the request names, or why the person does not have it. */
function heldBy(
  tx: StoreTransaction,
  request: InboxItemId & { readonly by: string; readonly token?: number },
): Held | InboxResult {
  const { id, by, token } = request
  const queue = inboxOf(tx, request.queue)
  const row = findMessage(tx, queue, id)
  if (row === undefined) return { status: 'gone' }
  const claim = liveClaim(tx, row)
  if (claim?.by === by) {
    return token === undefined || token === claim.token ? { queue, claim } : { status: 'stale' }
  }
  const isFree = row.state !== leased
  if (isFree && hasLapsed(tx, { queue: queue.name, id, by })) return { status: 'lapsed' }
  return { status: 'not_yours', holder: claim?.by ?? null }
}

function receiptOf({ id }: Queue, { sequence, token }: ClaimRow): string {
  return formatReceipt({ queueId: id, sequence, token })
}

function doneWith(tx: StoreTransaction, queue: Queue, { message }: ClaimRow): InboxResult {
  const row = findMessage(tx, queue, message)
  return { status: 'done', item: row === undefined ? null : recordOf(tx, queue, row) }
}

/** The visibility timeout of a lease is the length of a claim. */
function renamed(error: MillraceError): MillraceError {
  const violations = error.violations.map((one) => ({ ...one, field: 'leaseMs' }))
  return MillraceError.invalid(violations)
}

/** Ends claims whose messages have gone without them, such as by a purge; at most a slice. */
export function endGoneClaims(tx: StoreTransaction): number {
  const claims = tx.all(sql.due, tx.now)
  return claims.filter((claim) => endIfGone(tx, claim)).length
}

/** False when the message is still there: then its lease is, or it lapses in its own time. */
function endIfGone(tx: StoreTransaction, claim: ClaimRow): boolean {
  const row = tx.one(sql.find, claim.sequence, claim.generation)
  const isOfQueue = tx.findQueue(claim.queue)?.generation === claim.generation
  if (row === undefined || !isOfQueue) {
    endClaim(tx, claim, { event: 'gone', at: tx.now })
    return true
  }
  // A former receiver has moved the end of the lease, as SQS allows.
  if (leaseEnd(row) > claim.until) {
    tx.run(sql.prolong, leaseEnd(row), claim.sequence, claim.token)
    tx.wroteRow()
  }
  return false
}

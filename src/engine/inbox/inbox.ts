/**
 * Messages that people claim: reads them, and ends claims. A claim is a lease, so every change of a
 * message goes through the statements that compare tokens.
 */

import type { Outcome } from '../../backends/backend.ts'
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
} from '../../backends/inbox-store.ts'
import { carrierAnnotation } from '../../core/carrier-annotation.ts'
import { inboxNotesMax, limits } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { endAllDue } from '../messages/elapsed-time.ts'
import { extendLeases } from '../messages/extending.ts'
import {
  delayed,
  leased,
  type MessageRow,
  messageColumns,
  peekedFromRow,
} from '../messages/message-rows.ts'
import { settleLeases } from '../messages/settling.ts'
import type { Queue } from '../queues/queue.ts'
import { change, forUpdate, query } from '../statements.ts'
import { filtered, type Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
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
    `SELECT ${messageColumns} FROM message WHERE sequence = ? AND generation = ? ${forUpdate}`,
  ),
  // Few messages have an id of their own, and those lie in FIFO queues, in which all have a group.
  // A message that its carrier has delivered keeps the carrier's id.
  findCarried: query<{ sequence: number }>(
    'SELECT sequence FROM carried_delivery WHERE queue = ? AND id = ? AND sequence IS NOT NULL',
  ),
  findById: query<MessageRow>(`
    SELECT ${messageColumns} FROM message /*sqlite INDEXED BY message_in_group */
    WHERE generation = ? AND group_name IS NOT NULL AND id = ? ${forUpdate}`),
  prolong: change('UPDATE inbox_claim SET until = ? WHERE sequence = ? AND token = ?'),
  due: query<ClaimRow>(`
    SELECT * FROM inbox_claim WHERE until <= ? ORDER BY until LIMIT ${inboxSlice}`),
}

/** The queue, after its lapsed leases, delays and retention were applied. */
export function* inboxOf(tx: Transaction, name: string): Steps<Queue> {
  const queue = yield* tx.queue(name)
  yield* endAllDue(tx, queue)
  return queue
}

export function* findMessage(
  view: View,
  { id: queueId, generation, settings }: Queue,
  id: string,
): Steps<MessageRow | undefined> {
  const sequence = view.messageIds.sequenceOf(id)
  const row = sequence && (yield* view.one(sql.find, sequence, generation))
  if (row && (row.id === null || row.id === id)) return row
  if (settings.type === 'fifo') return yield* view.one(sql.findById, generation, id)
  if (settings.annotations[carrierAnnotation] === undefined) return undefined
  const carried = yield* view.one(sql.findCarried, queueId, id)
  return carried && (yield* view.one(sql.find, carried.sequence, generation))
}

/** The claim under which a message is held, if it is held by a person. */
export function* liveClaim(
  view: View,
  { sequence, state, token }: MessageRow,
): Steps<ClaimRow | undefined> {
  if (state !== leased) return undefined
  const claim = yield* claimOf(view, sequence)
  return claim?.token === token ? claim : undefined
}

export function* recordOf(tx: Transaction, queue: Queue, row: MessageRow): Steps<InboxItemRecord> {
  const claim = yield* liveClaim(tx, row)
  const message = yield* peekedFromRow(row, tx)
  return {
    message,
    state: stateOf(row, claim),
    claim: claim
      ? { by: claim.by, at: claim.claimed_at, until: leaseEnd(row), token: claim.token }
      : null,
    notes: yield* notesOf(tx, queue.name, message.id),
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

export function* readInboxMessage(
  tx: Transaction,
  request: InboxItemId,
): Steps<InboxItemRecord | undefined> {
  const queue = yield* inboxOf(tx, request.queue)
  const row = yield* findMessage(tx, queue, request.id)
  return row && (yield* recordOf(tx, queue, row))
}

export function* inboxHistory(tx: Transaction, request: InboxItemId): Steps<readonly InboxEvent[]> {
  const queue = yield* inboxOf(tx, request.queue)
  const sequence = tx.messageIds.sequenceOf(request.id)
  const claim = sequence && (yield* claimOf(tx, sequence))
  if (claim) yield* endIfGone(tx, claim)
  return yield* eventsOf(tx, { queue: queue.name, id: request.id })
}

export function* renewClaim(tx: Transaction, request: RenewInboxItem): Steps<InboxResult> {
  const held = yield* heldBy(tx, request)
  if ('status' in held) return held
  const { queue, claim } = held
  const visibilityMs = leaseMsOf(queue, request)
  const receipt = receiptOf(tx, queue, claim)
  const [result] = yield* extendLeases(tx, {
    queue: queue.name,
    leases: [{ receipt, visibilityMs }],
  })
  if (result?.status === 'refused') throw renamed(result.error)
  if (result?.status !== 'extended') return { status: result?.status ?? 'stale' }
  yield* tx.run(sql.prolong, result.leaseExpiresAt, claim.sequence, claim.token)
  yield* noteRenewal(tx, { queue: queue.name, message: claim.message, by: claim.by, at: tx.now })
  return yield* doneWith(tx, queue, claim)
}

export function* noteOnMessage(tx: Transaction, request: NoteInboxItem): Steps<InboxResult> {
  const { id, by, note } = request
  const queue = yield* inboxOf(tx, request.queue)
  const row = yield* findMessage(tx, queue, id)
  if (row === undefined) return { status: 'gone' }
  if ((yield* notesOf(tx, queue.name, id)) >= inboxNotesMax) {
    const allowed = `at most ${inboxNotesMax} notes on a message`
    throw MillraceError.invalid([{ field: 'note', given: 'one more', allowed }])
  }
  yield* noteInboxEvent(tx, {
    queue: queue.name,
    message: id,
    event: 'noted',
    by,
    note,
    at: tx.now,
  })
  return { status: 'done', item: yield* recordOf(tx, queue, row) }
}

export function* resolveMessage(tx: Transaction, request: ResolveInboxItem): Steps<InboxResult> {
  return yield* settle(tx, request, { kind: 'acknowledge' }, 'resolved')
}

export function* releaseMessage(tx: Transaction, request: EndInboxItem): Steps<InboxResult> {
  return yield* settle(tx, request, { kind: 'release' }, 'released')
}

/** Settles the message as any receiver does, with all effects. */
function* settle(
  tx: Transaction,
  request: ResolveInboxItem,
  outcome: Outcome,
  event: 'resolved' | 'released',
): Steps<InboxResult> {
  const held = yield* heldBy(tx, request)
  if ('status' in held) return held
  const { queue, claim } = held
  const { emits = [], note } = request
  const settlement = { receipt: receiptOf(tx, queue, claim), outcome, emits }
  const [result] = yield* settleLeases(tx, { queue: queue.name, settlements: [settlement] })
  if (result?.status === 'refused') throw result.error
  if (result?.status !== 'settled') return { status: result?.status ?? 'stale' }
  yield* endClaim(tx, claim, { event, note, at: tx.now })
  return yield* doneWith(tx, queue, claim)
}

interface Held {
  readonly queue: Queue
  readonly claim: ClaimRow
}

/** The claim that the request names, or why the person does not have it. */
function* heldBy(
  tx: Transaction,
  request: InboxItemId & { readonly by: string; readonly token?: number },
): Steps<Held | InboxResult> {
  const { id, by, token } = request
  const queue = yield* inboxOf(tx, request.queue)
  const row = yield* findMessage(tx, queue, id)
  if (row === undefined) return { status: 'gone' }
  const claim = yield* liveClaim(tx, row)
  if (claim?.by === by) {
    return token === undefined || token === claim.token ? { queue, claim } : { status: 'stale' }
  }
  const isFree = row.state !== leased
  if (isFree && (yield* hasLapsed(tx, { queue: queue.name, id, by }))) return { status: 'lapsed' }
  return { status: 'not_yours', holder: claim?.by ?? null }
}

function receiptOf(view: View, { id }: Queue, { sequence, token }: ClaimRow): string {
  return view.receipts.format({ queueId: id, sequence, token })
}

function* doneWith(tx: Transaction, queue: Queue, { message }: ClaimRow): Steps<InboxResult> {
  const row = yield* findMessage(tx, queue, message)
  return { status: 'done', item: row === undefined ? null : yield* recordOf(tx, queue, row) }
}

/** The visibility timeout of a lease is the length of a claim. */
function renamed(error: MillraceError): MillraceError {
  const violations = error.violations.map((one) => ({ ...one, field: 'leaseMs' }))
  return MillraceError.invalid(violations)
}

/** Ends claims whose messages have gone without them, such as by a purge; at most a slice. */
export function* endGoneClaims(tx: Transaction): Steps<number> {
  const claims = yield* tx.all(sql.due, tx.now)
  const ended = yield* filtered(claims, (claim) => endIfGone(tx, claim))
  return ended.length
}

/** False when the message is still there: then its lease is, or it lapses in its own time. */
function* endIfGone(tx: Transaction, claim: ClaimRow): Steps<boolean> {
  const row = yield* tx.one(sql.find, claim.sequence, claim.generation)
  const isOfQueue = (yield* tx.findQueue(claim.queue))?.generation === claim.generation
  if (row === undefined || !isOfQueue) {
    yield* endClaim(tx, claim, { event: 'gone', at: tx.now })
    return true
  }
  // A former receiver has moved the end of the lease, as SQS allows.
  if (leaseEnd(row) > claim.until) {
    yield* tx.run(sql.prolong, leaseEnd(row), claim.sequence, claim.token)
    tx.wroteRow()
  }
  return false
}

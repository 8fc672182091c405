/** Gives a message to a person: the one that has waited longest, or one that was chosen. */

import type { Delivery } from '../../backends/backend.ts'
import type { ClaimInboxItem, ClaimResult } from '../../backends/inbox-store.ts'
import { inFlightMax } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { receiveNow } from '../messages/claiming.ts'
import { gateOf } from '../messages/gates.ts'
import { groupChanged } from '../messages/groups.ts'
import { leaseOrSetAside } from '../messages/leasing.ts'
import { delayed, leased, type MessageRow } from '../messages/message-rows.ts'
import { NoisyTenants } from '../messages/tenants.ts'
import type { Queue } from '../queues/queue.ts'
import { change, orReplace, query } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction } from '../transaction.ts'
import { findMessage, inboxOf, leaseEnd, leaseMsOf, liveClaim, recordOf } from './inbox.ts'
import { noteInboxEvent } from './inbox-events.ts'

const sql = {
  putClaim: change(`
    INSERT INTO inbox_claim (
      sequence, generation, queue, message, token, by, claimed_at, until
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ${orReplace('sequence', 'generation, queue, message, token, by, claimed_at, until')}`),
  openHead: query<{ head: number }>(`
    SELECT head FROM fifo_group WHERE generation = ? AND name = ? AND turn IS NOT NULL`),
}

export function* claimMessage(tx: Transaction, request: ClaimInboxItem): Steps<ClaimResult> {
  const queue = yield* inboxOf(tx, request.queue)
  return request.id === undefined
    ? yield* claimOldest(tx, queue, request)
    : yield* claimChosen(tx, queue, { ...request, id: request.id })
}

function* claimOldest(tx: Transaction, queue: Queue, request: ClaimInboxItem): Steps<ClaimResult> {
  const { heldNames } = request
  const visibilityMs = leaseMsOf(queue, request)
  const held = heldNames !== undefined && { heldNames }
  const wanted = { queue: queue.name, max: 1, visibilityMs, ...held }
  const [delivery] = yield* receiveNow(tx, wanted, false)
  return delivery === undefined ? { status: 'none' } : yield* claimed(tx, queue, delivery, request)
}

function* claimChosen(
  tx: Transaction,
  queue: Queue,
  request: ClaimInboxItem & { readonly id: string },
): Steps<ClaimResult> {
  const { id, by } = request
  const row = yield* findMessage(tx, queue, id)
  if (row === undefined) return { status: 'gone' }
  if (row.state === delayed) return { status: 'not_ready', because: 'delayed' }
  if (row.state === leased) {
    const claim = yield* liveClaim(tx, row)
    // The response to the first claim may have been lost.
    if (claim?.by === by) return { status: 'claimed', item: yield* recordOf(tx, queue, row) }
    return { status: 'taken', holder: claim?.by ?? null, until: leaseEnd(row) }
  }
  if (yield* isBehindOthers(tx, queue, row)) return { status: 'not_ready', because: 'behind' }
  const delivery = yield* leaseChosen(tx, queue, row, request)
  if (delivery !== undefined) return yield* claimed(tx, queue, delivery, request)
  // Messages that may never be delivered have left the queue by now.
  return (yield* findMessage(tx, queue, id)) === undefined
    ? { status: 'gone' }
    : { status: 'not_ready', because: 'held' }
}

/** To give out a message before those of its group that were sent earlier would break their order. */
function* isBehindOthers(tx: Transaction, queue: Queue, row: MessageRow): Steps<boolean> {
  if (queue.settings.type !== 'fifo' || row.group_name === null) return false
  const first = yield* tx.one(sql.openHead, queue.generation, row.group_name)
  return first?.head !== row.sequence
}

/** A receive of this one message: it asks what every receive asks. */
function* leaseChosen(
  tx: Transaction,
  queue: Queue,
  row: MessageRow,
  request: ClaimInboxItem,
): Steps<Delivery | undefined> {
  if ((yield* tx.counted(queue, 'leased')) >= inFlightMax)
    throw new MillraceError('in_flight_limit')
  const gate = yield* gateOf({ view: tx, queue, heldNames: request.heldNames })
  if (gate?.isHeld || (gate?.room ?? 1) <= 0) return undefined
  const taken = yield* leaseOrSetAside(tx, queue, row, {
    max: 1,
    ahead: 0,
    leaseExpiresAt: tx.now + leaseMsOf(queue, request),
    budget: { setAside: 1 },
    gate,
    noisy: new NoisyTenants(tx, queue),
  })
  const delivery = typeof taken === 'object' ? taken : undefined
  if (gate !== undefined) yield* gate.noteClaims(tx, delivery === undefined ? 0 : 1)
  if (queue.settings.type === 'fifo' && row.group_name !== null) {
    yield* groupChanged(tx, queue.generation, row.group_name)
  }
  return delivery
}

/** Puts a name on a lease that was just given. */
function* claimed(
  tx: Transaction,
  queue: Queue,
  { id, sequence, token, leaseExpiresAt }: Delivery,
  { by }: ClaimInboxItem,
): Steps<ClaimResult> {
  const { generation, name } = queue
  yield* tx.run(sql.putClaim, sequence, generation, name, id, token, by, tx.now, leaseExpiresAt)
  yield* noteInboxEvent(tx, { queue: name, message: id, event: 'claimed', by, at: tx.now })
  const row = yield* findMessage(tx, queue, id)
  return row === undefined
    ? { status: 'gone' }
    : { status: 'claimed', item: yield* recordOf(tx, queue, row) }
}

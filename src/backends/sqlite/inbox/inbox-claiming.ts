/** Gives a message to a person: the one that has waited longest, or one that was chosen. */

import { inFlightMax } from '../../../core/limits.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Delivery } from '../../backend.ts'
import type { ClaimInboxItem, ClaimResult } from '../../inbox-store.ts'
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import { receiveNow } from '../messages/claiming.ts'
import { gateOf } from '../messages/gates.ts'
import { groupChanged } from '../messages/groups.ts'
import { leaseOrSetAside } from '../messages/leasing.ts'
import { delayed, leased, type MessageRow } from '../messages/message-rows.ts'
import { NoisyTenants } from '../messages/tenants.ts'
import type { Queue } from '../queues/queue-cache.ts'
import { findMessage, inboxOf, leaseEnd, leaseMsOf, liveClaim, recordOf } from './inbox.ts'
import { noteInboxEvent } from './inbox-events.ts'

const sql = {
  putClaim: change(`
    INSERT OR REPLACE INTO inbox_claim (
      sequence, generation, queue, message, token, by, claimed_at, until
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`),
  openHead: query<{ head: number }>(`
    SELECT head FROM fifo_group WHERE generation = ? AND name = ? AND turn IS NOT NULL`),
}

export function claimMessage(tx: StoreTransaction, request: ClaimInboxItem): ClaimResult {
  const queue = inboxOf(tx, request.queue)
  return request.id === undefined
    ? claimOldest(tx, queue, request)
    : claimChosen(tx, queue, { ...request, id: request.id })
}

function claimOldest(tx: StoreTransaction, queue: Queue, request: ClaimInboxItem): ClaimResult {
  const { heldNames } = request
  const visibilityMs = leaseMsOf(queue, request)
  const held = heldNames !== undefined && { heldNames }
  const wanted = { queue: queue.name, max: 1, visibilityMs, ...held }
  const [delivery] = receiveNow(tx, wanted, false)
  return delivery === undefined ? { status: 'none' } : claimed(tx, queue, delivery, request)
}

function claimChosen(
  tx: StoreTransaction,
  queue: Queue,
  request: ClaimInboxItem & { readonly id: string },
): ClaimResult {
  const { id, by } = request
  const row = findMessage(tx, queue, id)
  if (row === undefined) return { status: 'gone' }
  if (row.state === delayed) return { status: 'not_ready', because: 'delayed' }
  if (row.state === leased) {
    const claim = liveClaim(tx, row)
    // The response to the first claim may have been lost.
    if (claim?.by === by) return { status: 'claimed', item: recordOf(tx, queue, row) }
    return { status: 'taken', holder: claim?.by ?? null, until: leaseEnd(row) }
  }
  if (isBehindOthers(tx, queue, row)) return { status: 'not_ready', because: 'behind' }
  const delivery = leaseChosen(tx, queue, row, request)
  if (delivery !== undefined) return claimed(tx, queue, delivery, request)
  // Messages that may never be delivered have left the queue by now.
  return findMessage(tx, queue, id) === undefined
    ? { status: 'gone' }
    : { status: 'not_ready', because: 'held' }
}

/** To give out a message before those of its group that were sent earlier would break their order. */
function isBehindOthers(tx: StoreTransaction, queue: Queue, row: MessageRow): boolean {
  if (queue.settings.type !== 'fifo' || row.group_name === null) return false
  const first = tx.one(sql.openHead, queue.generation, row.group_name)
  return first?.head !== row.sequence
}

/** A receive of this one message: it asks what every receive asks. */
function leaseChosen(
  tx: StoreTransaction,
  queue: Queue,
  row: MessageRow,
  request: ClaimInboxItem,
): Delivery | undefined {
  const { session, now } = tx
  if (tx.counted(queue, 'leased') >= inFlightMax) throw new MillraceError('in_flight_limit')
  const gate = gateOf({ session, queue, now, heldNames: request.heldNames })
  if (gate?.isHeld || (gate?.room ?? 1) <= 0) return undefined
  const taken = leaseOrSetAside(tx, queue, row, {
    max: 1,
    ahead: 0,
    leaseExpiresAt: now + leaseMsOf(queue, request),
    budget: { setAside: 1 },
    gate,
    noisy: new NoisyTenants(tx, queue),
  })
  const delivery = typeof taken === 'object' ? taken : undefined
  gate?.noteClaims(tx, delivery === undefined ? 0 : 1)
  if (queue.settings.type === 'fifo' && row.group_name !== null) {
    groupChanged(tx, queue.generation, row.group_name)
  }
  return delivery
}

/** Puts a name on a lease that was just given. */
function claimed(
  tx: StoreTransaction,
  queue: Queue,
  { id, sequence, token, leaseExpiresAt }: Delivery,
  { by }: ClaimInboxItem,
): ClaimResult {
  const { generation, name } = queue
  tx.run(sql.putClaim, sequence, generation, name, id, token, by, tx.now, leaseExpiresAt)
  noteInboxEvent(tx, { queue: name, message: id, event: 'claimed', by, at: tx.now })
  const row = findMessage(tx, queue, id)
  return row === undefined
    ? { status: 'gone' }
    : { status: 'claimed', item: recordOf(tx, queue, row) }
}

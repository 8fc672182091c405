/**
 * Leases ready messages: oldest first on standard queues, group by group on FIFO queues. Messages
 * that have used up their receives go to the dead-letter queue here, on the receive after the last.
 */

import { inFlightMax } from '../../../core/limits.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Delivery, Receive } from '../../backend.ts'
import { arrayQuery, type Query, upTo } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import type { Queue } from '../queues/queue-cache.ts'
import { claimGated } from './claiming-gated.ts'
import { endDueForReceive, sliceRows } from './elapsed-time.ts'
import { Gate, gateOf } from './gates.ts'
import { firstOpenGroup, groupChanged } from './groups.ts'
import { type Claim, isNewAndLasting, leaseOrSetAside, leaseTogether } from './leasing.ts'
import {
  type ContentRow,
  type ContentValues,
  contentColumns,
  contents,
  oldestReady,
} from './message-rows.ts'
import { recallAttempt, rememberAttempt } from './receive-attempts.ts'
import { NoisyTenants } from './tenants.ts'

const pickInGroup: Query<ContentValues> = arrayQuery(`
  SELECT ${contentColumns} FROM message INDEXED BY message_in_group
  WHERE generation = ? AND group_name = ? AND state = 0 AND sequence < ?
  ORDER BY sequence ${upTo}`)

/** Leases messages that are ready now; returns an empty array when there are none. */
export function receiveNow(
  tx: StoreTransaction,
  request: Receive,
  isLongPoll: boolean,
): readonly Delivery[] {
  const deliveries = claimMessages(tx, request, isLongPoll)
  const { onLeased } = request
  if (onLeased !== undefined && deliveries.length > 0) tx.afterCommit(() => onLeased(deliveries))
  return deliveries
}

function claimMessages(
  tx: StoreTransaction,
  request: Receive,
  isLongPoll: boolean,
): readonly Delivery[] {
  const queue = tx.queue(request.queue)
  const visibilityMs = request.visibilityMs ?? queue.settings.visibilityMs
  endDueForReceive(tx, queue)
  const recalled = recallAttempt(tx, queue, request.attemptId, visibilityMs)
  if (recalled !== undefined) return recalled
  const inFlightRoom = inFlightMax - tx.counted(queue, 'leased')
  if (inFlightRoom <= 0) {
    // A long poll keeps waiting; a short poll gets the reason.
    if (isLongPoll || queue.settings.type === 'fifo') return []
    throw new MillraceError('in_flight_limit')
  }
  const { session, now } = tx
  const gate = gateOf({ session, queue, now, heldNames: request.heldNames })
  if (gate?.isHeld) return []
  const max = Math.min(request.max, inFlightRoom, gate?.room ?? inFlightRoom)
  if (max <= 0) return []
  const budget = { setAside: sliceRows }
  const noisy = new NoisyTenants(tx, queue)
  const leaseExpiresAt = now + visibilityMs
  const ahead = gate === undefined ? aheadOf(tx, queue, request, max) : 0
  const deliveries = claim(tx, queue, { max, ahead, leaseExpiresAt, budget, gate, noisy })
  gate?.noteClaims(tx, deliveries.length)
  rememberAttempt(tx, queue, request.attemptId, deliveries)
  return deliveries
}

/** How many messages a worker may claim ahead: as many stay ready, so no idle receiver finds none. */
function aheadOf(
  tx: StoreTransaction,
  queue: Queue,
  { prefetch = 0 }: Receive,
  max: number,
): number {
  if (prefetch === 0 || queue.settings.type === 'fifo') return 0
  const left = tx.counted(queue, 'ready') - max
  const room = inFlightMax - tx.counted(queue, 'leased') - max
  return Math.max(0, Math.min(prefetch, room, Math.floor(left / 2)))
}

function claim(tx: StoreTransaction, queue: Queue, wanted: Claim): readonly Delivery[] {
  if (queue.settings.type === 'fifo') return claimFifo(tx, queue, wanted)
  const { gate } = wanted
  return gate === undefined
    ? claimStandard(tx, queue, wanted)
    : claimGated(tx, queue, { ...wanted, gate })
}

function claimStandard(tx: StoreTransaction, queue: Queue, claim: Claim): readonly Delivery[] {
  const rows = oldestReady(tx.session, queue, claim.max + claim.ahead)
  const asked = rows.slice(0, claim.max)
  if (asked.some((row) => claim.noisy.has(row.group_name))) {
    const { session, now } = tx
    const gate = new Gate({ session, queue, now, heldNames: undefined })
    return claimGated(tx, queue, { ...claim, gate })
  }
  if (!asked.every((row) => isNewAndLasting(queue, row, claim))) {
    return claimInOrder(tx, queue, claim, (count) => oldestReady(tx.session, queue, count))
  }
  const end = rows.findIndex((row, index) => index >= claim.max && !isForAhead(queue, row, claim))
  return leaseTogether(tx, queue, end === -1 ? rows : rows.slice(0, end), claim)
}

/**
 * A crash costs a message that was claimed ahead an attempt, so only one that has all of them is. A
 * tenant's share counts what is leased, not what is claimed ahead.
 */
function isForAhead(queue: Queue, row: ContentRow, claim: Claim): boolean {
  return row.group_name === null && isNewAndLasting(queue, row, claim)
}

function claimFifo(tx: StoreTransaction, queue: Queue, claim: Claim): readonly Delivery[] {
  const deliveries: Delivery[] = []
  while (deliveries.length < claim.max && claim.budget.setAside > 0) {
    const group = firstOpenGroup(tx, queue.generation)
    if (group === undefined) break
    const rest = { ...claim, max: claim.max - deliveries.length }
    const { name, first_leased } = group
    const before = first_leased ?? Number.MAX_SAFE_INTEGER
    const fromGroup = claimInOrder(tx, queue, rest, (count) =>
      contents(tx.session, pickInGroup, queue.generation, name, before, count),
    )
    deliveries.push(...fromGroup)
    groupChanged(tx, queue.generation, name)
  }
  return deliveries
}

/** Leases from the front, past what has to be set aside, until there is enough or nothing left. */
function claimInOrder(
  tx: StoreTransaction,
  queue: Queue,
  claim: Claim,
  pick: (count: number) => readonly ContentRow[],
): readonly Delivery[] {
  const deliveries: Delivery[] = []
  let hasEnded = false
  while (deliveries.length < claim.max && claim.budget.setAside > 0) {
    // Rows that must be read again after each message are read one by one.
    const wanted = hasEnded ? 1 : claim.max - deliveries.length
    const rows = pick(wanted)
    hasEnded = false
    for (const row of rows) {
      const claimed = leaseOrSetAside(tx, queue, row, claim)
      if (typeof claimed === 'object') deliveries.push(claimed)
      hasEnded = claimed === 'ended'
      if (hasEnded) break
    }
    if (!hasEnded && rows.length < wanted) break
  }
  return deliveries
}

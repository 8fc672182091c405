/**
 * Leases ready messages: oldest first on standard queues, group by group on FIFO queues. Messages
 * that have used up their receives go to the dead-letter queue here, on the receive after the last.
 */

import type { Delivery, Receive } from '../../backends/backend.ts'
import { inFlightMax } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Queue } from '../queues/queue.ts'
import { arrayQuery, type Query, upTo } from '../statements.ts'
import type { Step, Steps } from '../steps.ts'
import type { Counts, Transaction } from '../transaction.ts'
import { claimGated } from './claiming-gated.ts'
import type { ContentRow } from './content-row.ts'
import { endDueForReceive, sliceRows } from './elapsed-time.ts'
import { gateOf, hasGate, makeGate } from './gates.ts'
import { firstOpenGroup, groupChanged } from './groups.ts'
import { type Claim, type Claimed, isNewAndLasting, leaseOrSetAside } from './leasing.ts'
import { type ContentValues, contentColumns, contents, oldestReady } from './message-rows.ts'
import { recallAttempt, rememberAttempt } from './receive-attempts.ts'
import { NoisyTenants } from './tenants.ts'

const pickInGroup: Query<ContentValues> = arrayQuery(`
  SELECT ${contentColumns} FROM message /*sqlite INDEXED BY message_in_group */
  WHERE generation = ? AND group_name = ? AND state = 0 AND sequence < ?
  ORDER BY sequence ${upTo}`)

/** Leases messages that are ready now; returns an empty array when there are none. */
export function* receiveNow(
  tx: Transaction,
  request: Receive,
  isLongPoll: boolean,
): Steps<readonly Delivery[]> {
  const deliveries = yield* claimMessages(tx, request, isLongPoll)
  const { onLeased } = request
  if (onLeased !== undefined && deliveries.length > 0) tx.afterCommit(() => onLeased(deliveries))
  return deliveries
}

function* claimMessages(
  tx: Transaction,
  request: Receive,
  isLongPoll: boolean,
): Steps<readonly Delivery[]> {
  const queue = yield* tx.queue(request.queue)
  const visibilityMs = request.visibilityMs ?? queue.settings.visibilityMs
  const { attemptId, prefetch = 0, heldNames } = request
  if (queue.settings.type === 'standard' && !hasGate({ view: tx, queue, heldNames })) {
    const claim = { max: request.max, prefetch, leaseExpiresAt: tx.now + visibilityMs }
    const claimed = yield* tx.messages.claimOrdinary(queue, claim)
    if (claimed !== undefined) return claimed
  }
  yield* endDueForReceive(tx, queue)
  const recalled = attemptId && (yield* recallAttempt(tx, queue, attemptId, visibilityMs))
  if (recalled) return recalled
  const inFlightRoom = inFlightMax - (yield* tx.counted(queue, 'leased'))
  if (inFlightRoom <= 0) {
    // A long poll keeps waiting; a short poll gets the reason.
    if (isLongPoll || queue.settings.type === 'fifo') return []
    throw new MillraceError('in_flight_limit')
  }
  const { now } = tx
  const gate = yield* gateOf({ view: tx, queue, heldNames })
  if (gate?.isHeld) return []
  const max = Math.min(request.max, inFlightRoom, gate?.room ?? inFlightRoom)
  if (max <= 0) return []
  const budget = { setAside: sliceRows }
  const noisy = new NoisyTenants(tx, queue)
  const leaseExpiresAt = now + visibilityMs
  const isAhead = prefetch > 0 && gate === undefined
  const ahead = isAhead ? yield* aheadOf(tx, queue, prefetch, max) : 0
  const deliveries = yield* claim(tx, queue, { max, ahead, leaseExpiresAt, budget, gate, noisy })
  if (gate !== undefined) yield* gate.noteClaims(tx, deliveries.length)
  if (attemptId) yield* rememberAttempt(tx, queue, attemptId, deliveries)
  return deliveries
}

/** How many messages a worker may claim ahead: as many stay ready, so no idle receiver finds none. */
export function aheadIn(
  { ready, leased }: Pick<Counts, 'ready' | 'leased'>,
  prefetch: number,
  max: number,
): number {
  const room = inFlightMax - leased - max
  return Math.max(0, Math.min(prefetch, room, Math.floor((ready - max) / 2)))
}

function* aheadOf(tx: Transaction, queue: Queue, prefetch: number, max: number): Steps<number> {
  if (queue.settings.type === 'fifo') return 0
  const ready = yield* tx.counted(queue, 'ready')
  return aheadIn({ ready, leased: yield* tx.counted(queue, 'leased') }, prefetch, max)
}

function* claim(tx: Transaction, queue: Queue, wanted: Claim): Steps<readonly Delivery[]> {
  if (queue.settings.type === 'fifo') return yield* claimFifo(tx, queue, wanted)
  const { gate } = wanted
  return gate === undefined
    ? yield* claimStandard(tx, queue, wanted)
    : yield* claimGated(tx, queue, { ...wanted, gate })
}

function* claimStandard(tx: Transaction, queue: Queue, claim: Claim): Steps<readonly Delivery[]> {
  const oldest = yield* tx.messages.leaseOldest(queue, claim)
  if (oldest !== undefined) return oldest
  const rows = yield* oldestReady(tx, queue, claim.max)
  const tenants = rows.map(({ group_name }) => group_name)
  yield* claim.noisy.read(tenants)
  if (tenants.some((tenant) => claim.noisy.has(tenant))) {
    const gate = yield* makeGate({ view: tx, queue, heldNames: undefined })
    return yield* claimGated(tx, queue, { ...claim, gate })
  }
  if (!rows.every((row) => isNewAndLasting(queue, row, claim))) {
    return yield* claimInOrder(tx, queue, claim, (count) => oldestReady(tx, queue, count))
  }
  return yield* tx.messages.leaseNew(queue, rows, claim)
}

function* claimFifo(tx: Transaction, queue: Queue, claim: Claim): Steps<readonly Delivery[]> {
  const deliveries: Delivery[] = []
  while (deliveries.length < claim.max && claim.budget.setAside > 0) {
    const group = yield* firstOpenGroup(tx, queue.generation)
    if (group === undefined) break
    const rest = { ...claim, max: claim.max - deliveries.length }
    const { name, first_leased } = group
    const before = first_leased ?? Number.MAX_SAFE_INTEGER
    const fromGroup = yield* claimInOrder(tx, queue, rest, (count) =>
      contents(tx, pickInGroup, queue.generation, name, before, count),
    )
    deliveries.push(...fromGroup)
    yield* groupChanged(tx, queue.generation, name)
  }
  return deliveries
}

/** Leases from the front, past what has to be set aside, until there is enough or nothing left. */
function* claimInOrder(
  tx: Transaction,
  queue: Queue,
  claim: Claim,
  pick: (count: number) => Step<readonly ContentRow[]>,
): Steps<readonly Delivery[]> {
  const deliveries: Delivery[] = []
  let hasEnded = false
  while (deliveries.length < claim.max && claim.budget.setAside > 0) {
    // Rows that must be read again after each message are read one by one.
    const wanted: number = hasEnded ? 1 : claim.max - deliveries.length
    const rows: readonly ContentRow[] = yield* pick(wanted)
    hasEnded = false
    for (const row of rows) {
      const claimed: Claimed = yield* leaseOrSetAside(tx, queue, row, claim)
      if (typeof claimed === 'object') deliveries.push(claimed)
      hasEnded = claimed === 'ended'
      if (hasEnded) break
    }
    if (!hasEnded && rows.length < wanted) break
  }
  return deliveries
}

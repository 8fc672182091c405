/**
 * Leases ready messages: oldest first on standard queues, group by group on FIFO queues. Messages
 * that have used up their receives go to the dead-letter queue here, on the receive after the last.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { inFlightMax } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Delivery, Receive } from '../backend.ts'
import { hasUsedUpReceives, moveUsedUp } from './dead-lettering.ts'
import { firstOpenGroup, groupChanged } from './groups.ts'
import {
  type ContentRow,
  type ContentValues,
  contentColumns,
  contentFromValues,
  deliveryFromRow,
  ready,
} from './messages.ts'
import { recallAttempt, rememberAttempt } from './receive-attempts.ts'
import { allRows, upTo } from './rows.ts'
import type { Queue } from './topology.ts'
import type { StoreTransaction } from './transaction.ts'
import { catchUpForReceive, expire, hold, retentionCutoff, upkeepSlice } from './upkeep.ts'

export interface ClaimingStatements {
  readonly pick: StatementSync
  readonly pickInGroup: StatementSync
  readonly leaseNew: StatementSync
  readonly lease: StatementSync
}

export function prepareClaiming(db: DatabaseSync): ClaimingStatements {
  const pick = db.prepare(`
    SELECT ${contentColumns} FROM message INDEXED BY message_ready
    WHERE generation = ? AND state = 0 ORDER BY sequence ${upTo}`)
  const pickInGroup = db.prepare(`
    SELECT ${contentColumns} FROM message INDEXED BY message_ready_in_group
    WHERE generation = ? AND group_name = ? AND state = 0 ORDER BY sequence ${upTo}`)
  pick.setReturnArrays(true)
  pickInGroup.setReturnArrays(true)
  return {
    pick,
    pickInGroup,
    leaseNew: db.prepare(`
      UPDATE message INDEXED BY message_ready SET
        state = 1, due_at = ?, token = ? + sequence, leased_at = ?, receive_count = 1
      WHERE generation = ? AND state = 0 AND sequence <= ?`),
    lease: db.prepare(`
      UPDATE message SET
        state = 1, due_at = ?, token = ?, held_until = ?, receive_count = ?,
        first_received_at = CASE
          WHEN receive_count > 0 THEN coalesce(first_received_at, leased_at) END,
        leased_at = ?
      WHERE sequence = ? AND state = 0`),
  }
}

interface Claim {
  readonly max: number
  readonly leaseExpiresAt: number
  /** How many more messages may be set aside, so that no receive holds the others up for long. */
  readonly budget: { setAside: number }
}

/** Leases what can be had now; an empty answer when there is nothing. */
export function receiveNow(
  tx: StoreTransaction,
  request: Receive,
  isPatient: boolean,
): readonly Delivery[] {
  const queue = tx.queue(request.queue)
  const visibilityMs = request.visibilityMs ?? queue.settings.visibilityMs
  catchUpForReceive(tx, queue)
  const recalled = recallAttempt(tx, queue, request.attemptId, visibilityMs)
  if (recalled !== undefined) return recalled
  const max = Math.min(request.max, inFlightMax - tx.counted(queue, 'leased'))
  if (max <= 0) {
    // Whoever waits keeps waiting; whoever asks for an answer now is told why there is none.
    if (isPatient || queue.settings.type === 'fifo') return []
    throw new MillraceError('in_flight_limit')
  }
  const leaseExpiresAt = tx.now + visibilityMs
  const claim = { max, leaseExpiresAt, budget: { setAside: upkeepSlice } }
  const deliveries =
    queue.settings.type === 'fifo' ? claimFifo(tx, queue, claim) : claimStandard(tx, queue, claim)
  rememberAttempt(tx, queue, request.attemptId, deliveries)
  return deliveries
}

function claimStandard(tx: StoreTransaction, queue: Queue, claim: Claim): readonly Delivery[] {
  const { pick, leaseNew } = tx.session.claiming
  const rows = contents(pick, queue.generation, claim.max)
  const [first] = rows
  const last = rows.at(-1)
  if (first === undefined || last === undefined) return []
  if (!rows.every((row) => isNewAndLasting(queue, row, claim))) {
    return claimInOrder(tx, queue, claim, (count) => contents(pick, queue.generation, count))
  }
  // These rows are all that is ready up to the last of them: one statement leases them together.
  const offset = tx.nextTokens(first.sequence, last.sequence)
  leaseNew.run(claim.leaseExpiresAt, offset, tx.now, queue.generation, last.sequence)
  countLeased(tx, queue, rows.length)
  return rows.map((row) => deliver(tx, queue, row, offset + row.sequence, claim))
}

function contents(pick: StatementSync, ...values: readonly SQLInputValue[]): readonly ContentRow[] {
  return allRows<ContentValues>(pick, ...values).map(contentFromValues)
}

/** Never received before, and sure to outlive its lease: the case that is leased in bulk. */
function isNewAndLasting(queue: Queue, row: ContentRow, { leaseExpiresAt }: Claim): boolean {
  return row.receive_count === 0 && row.sent_at + queue.settings.retentionMs > leaseExpiresAt
}

function claimFifo(tx: StoreTransaction, queue: Queue, claim: Claim): readonly Delivery[] {
  const deliveries: Delivery[] = []
  const { pickInGroup } = tx.session.claiming
  while (deliveries.length < claim.max && claim.budget.setAside > 0) {
    const group = firstOpenGroup(tx, queue.generation)
    if (group === undefined) break
    const rest = { ...claim, max: claim.max - deliveries.length }
    const fromGroup = claimInOrder(tx, queue, rest, (count) =>
      contents(pickInGroup, queue.generation, group, count),
    )
    deliveries.push(...fromGroup)
    groupChanged(tx, queue.generation, group, fromGroup.length)
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
  while (deliveries.length < claim.max && claim.budget.setAside > 0) {
    const missing = claim.max - deliveries.length
    const rows = pick(missing)
    const leasedRows = leaseRows(tx, queue, rows, claim)
    deliveries.push(...leasedRows)
    claim.budget.setAside -= rows.length - leasedRows.length
    if (rows.length < missing) break
  }
  return deliveries
}

/** Leases what may be delivered and sets the rest aside. */
function leaseRows(
  tx: StoreTransaction,
  queue: Queue,
  rows: readonly ContentRow[],
  claim: Claim,
): readonly Delivery[] {
  const deliveries: Delivery[] = []
  for (const row of rows) {
    if (!setAside(tx, queue, row)) deliveries.push(lease(tx, queue, row, claim))
  }
  return deliveries
}

/** Takes a message out of the way that must not be delivered: expired, or out of receives. */
function setAside(tx: StoreTransaction, queue: Queue, row: ContentRow): boolean {
  if (row.sent_at <= retentionCutoff(queue, tx.now)) {
    expire(tx, queue, {
      ...row,
      state: ready,
      apart: row.body === null ? 1 : 0,
      is_job: row.job === null ? 0 : 1,
    })
    return true
  }
  return hasUsedUpReceives(queue, row) && moveUsedUp(tx, queue, row)
}

function lease(tx: StoreTransaction, queue: Queue, row: ContentRow, claim: Claim): Delivery {
  const token = tx.nextToken()
  const { dueAt, heldUntil } = hold(queue, row.sent_at, claim.leaseExpiresAt)
  tx.session.claiming.lease.run(
    dueAt,
    token,
    heldUntil,
    row.receive_count + 1,
    tx.now,
    row.sequence,
  )
  countLeased(tx, queue, 1)
  return deliver(tx, queue, row, token, claim)
}

function countLeased(tx: StoreTransaction, queue: Queue, count: number): void {
  tx.count(queue, 'ready', -count)
  tx.count(queue, 'leased', count)
  tx.count(queue, 'received', count)
}

function deliver(
  tx: StoreTransaction,
  queue: Queue,
  row: ContentRow,
  token: number,
  claim: Claim,
): Delivery {
  return deliveryFromRow(row, tx.session, {
    queueId: queue.id,
    token,
    leaseExpiresAt: claim.leaseExpiresAt,
    receiveCount: row.receive_count + 1,
    firstReceivedAt: row.receive_count === 0 ? tx.now : row.first_received_at,
  })
}

/** Gives out one message, or several at once, or sets aside what must not be given out. */

import type { Delivery } from '../../backend.ts'
import { change, type Statement } from '../driver/statements.ts'
import type { StoreTransaction } from '../driver/transaction.ts'
import type { Queue } from '../queues/queue-cache.ts'
import { block, kindOf, runningBucket } from './buckets.ts'
import { divert, moveUsedUp } from './dead-lettering.ts'
import { expire } from './elapsed-time.ts'
import { expiryOf, holdLeased } from './expiry.ts'
import type { Gate } from './gates.ts'
import { hasUsedUpReceives } from './leases.ts'
import { blocked, type ContentRow, deliveryFromRow, ready } from './message-rows.ts'
import { type NoisyTenants, tenantsLeased } from './tenants.ts'

/** Columns that have an index and are named here cost time, so only those that need them name them. */
const leaseNew = (more: string): Statement =>
  change(`
    UPDATE message INDEXED BY message_ready SET
      state = 1, due_at = ?, token = ? + sequence, leased_at = ?, receive_count = 1${more}
    WHERE generation = ? AND state = 0 AND sequence <= ?`)
const leaseOne = (more: string, from: string): Statement =>
  change(`
    UPDATE message SET
      state = 1, due_at = ?, token = ?, held_until = ?, receive_count = ?,
      first_received_at = CASE
        WHEN receive_count > 0 THEN coalesce(first_received_at, leased_at) END,
      leased_at = ?${more}
    WHERE sequence = ? AND ${from}`)

const sql = {
  leaseNew: leaseNew(''),
  leaseNewCounted: leaseNew(`, bucket = '${runningBucket}'`),
  lease: leaseOne('', 'state = 0'),
  leaseGated: leaseOne(', bucket = ?', `(state = 0 OR state = ${blocked})`),
}

export interface Claim {
  readonly max: number
  /** How many more may be claimed, if they are new. */
  readonly ahead: number
  readonly leaseExpiresAt: number
  /** How many more messages may be set aside, so that no receive holds the others up for long. */
  readonly budget: { setAside: number }
  /** The gate to check; undefined when there is none. */
  readonly gate: Gate | undefined
  /** Tenants that are served after all others. */
  readonly noisy: NoisyTenants
}

/** Never received before, and sure to outlive its lease: the case that is leased in bulk. */
export function isNewAndLasting(queue: Queue, row: ContentRow, { leaseExpiresAt }: Claim): boolean {
  return row.receive_count === 0 && expiryOf(queue, row, row.job !== null) > leaseExpiresAt
}

/** Leases rows that are all that is ready up to the last of them, with one statement. */
export function leaseTogether(
  tx: StoreTransaction,
  queue: Queue,
  rows: readonly ContentRow[],
  claim: Claim,
): readonly Delivery[] {
  const [first] = rows
  const last = rows.at(-1)
  if (first === undefined || last === undefined) return []
  const offset = tx.nextTokens(first.sequence, last.sequence)
  const statement = queue.countsRunning ? sql.leaseNewCounted : sql.leaseNew
  tx.run(statement, claim.leaseExpiresAt, offset, tx.now, queue.generation, last.sequence)
  countLeased(tx, queue, rows)
  return rows.map((row) => deliver(tx, queue, row, offset + row.sequence, claim))
}

/**
 * What became of a message that a claim found. `ended`: it has expired or was dead-lettered, and that may
 * have changed other messages, so rows that were read before have to be read again.
 */
export type Claimed = Delivery | 'ended' | 'blocked'

/** Leases a message if it may be delivered, and sets it aside if not. */
export function leaseOrSetAside(
  tx: StoreTransaction,
  queue: Queue,
  row: ContentRow,
  claim: Claim,
): Claimed {
  const stopped = isSetAside(tx, queue, row) ? 'ended' : stop(tx, queue, row, claim.gate)
  if (stopped === undefined) return lease(tx, queue, row, claim)
  claim.budget.setAside -= 1
  return stopped
}

/** Takes a message out of the way that must never be delivered: expired, or out of receives. */
export function isSetAside(tx: StoreTransaction, queue: Queue, row: ContentRow): boolean {
  const isJob = row.job !== null
  const expiresAt = expiryOf(queue, row, isJob)
  if (expiresAt <= tx.now) {
    const apart = row.body === null ? 1 : 0
    expire(tx, queue, { ...row, state: ready, apart, is_job: isJob ? 1 : 0 }, expiresAt)
    return true
  }
  return hasUsedUpReceives(queue, row) && moveUsedUp(tx, queue, row)
}

/** Diverts or blocks a message that the gate does not let through; others are counted. */
function stop(
  tx: StoreTransaction,
  queue: Queue,
  row: ContentRow,
  gate: Gate | undefined,
): 'ended' | 'blocked' | undefined {
  if (gate === undefined) return undefined
  const kind = kindOf(queue, row)
  const verdict = gate.verdict(kind)
  if (verdict === 'open') {
    gate.take(kind)
    return undefined
  }
  if (verdict !== 'closed' && divert(tx, queue, row, verdict.divertedBy)) return 'ended'
  block(tx, queue, row, gate.bucketFor(kind))
  return 'blocked'
}

function lease(tx: StoreTransaction, queue: Queue, row: ContentRow, claim: Claim): Delivery {
  const token = tx.nextToken()
  const { dueAt, heldUntil } = holdLeased(queue, row, row.job !== null, claim.leaseExpiresAt)
  const values = [dueAt, token, heldUntil, row.receive_count + 1, tx.now] as const
  if (claim.gate === undefined) tx.run(sql.lease, ...values, row.sequence)
  else tx.run(sql.leaseGated, ...values, queue.countsRunning ? runningBucket : null, row.sequence)
  countLeased(tx, queue, [row])
  return deliver(tx, queue, row, token, claim)
}

function countLeased(tx: StoreTransaction, queue: Queue, rows: readonly ContentRow[]): void {
  const count = rows.length
  tx.count(queue, 'ready', -count)
  tx.count(queue, 'leased', count)
  tx.count(queue, 'received', count)
  // The lock of a FIFO group is set by the claim, once for all that it took of the group.
  if (queue.settings.type === 'standard') tenantsLeased(tx, queue, rows)
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
    leasedAt: tx.now,
    leaseExpiresAt: claim.leaseExpiresAt,
    receiveCount: row.receive_count + 1,
    firstReceivedAt: row.receive_count === 0 ? tx.now : row.first_received_at,
  })
}

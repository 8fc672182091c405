/** Gives out one message, or several at once, or sets aside what must not be given out. */

import type { Delivery } from '../../backends/backend.ts'
import type { Queue } from '../queues/queue.ts'
import { byKey, change, type Statement } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'
import { block, kindOf, runningBucket } from './buckets.ts'
import type { ContentRow } from './content-row.ts'
import { divert, moveUsedUp } from './dead-lettering.ts'
import { expire } from './elapsed-time.ts'
import { expiryOf, holdLeased } from './expiry.ts'
import type { Gate } from './gates.ts'
import { hasUsedUpReceives } from './leases.ts'
import { blocked, deliveryFromRow, type Lease, ready } from './message-rows.ts'
import type { BulkLease } from './native-messages.ts'
import { type NoisyTenants, tenantsLeased } from './tenants.ts'

const leaseOne = (more: string, from: string): Statement =>
  change(`
    UPDATE message SET
      state = 1, due_at = ?, token = ?, held_until = ?, receive_count = ?,
      first_received_at = CASE
        WHEN receive_count > 0 THEN coalesce(first_received_at, leased_at) END,
      leased_at = ?${more}
    WHERE sequence = ? AND ${from}`)

const sql = {
  lease: leaseOne('', `state${byKey} = 0`),
  leaseGated: leaseOne(', bucket = ?', `(state = 0 OR state = ${blocked})`),
}

export interface Claim extends BulkLease {
  /** How many more messages may be set aside, so that no receive holds the others up for long. */
  readonly budget: { setAside: number }
  /** The gate to check; undefined when there is none. */
  readonly gate: Gate | undefined
  /** Tenants that are served after all others. */
  readonly noisy: NoisyTenants
}

/** Never received before, and sure to outlive its lease: the case that is leased in bulk. */
export function isNewAndLasting(
  queue: Queue,
  row: ContentRow,
  { leaseExpiresAt }: BulkLease,
): boolean {
  return row.receive_count === 0 && expiryOf(queue, row, row.job !== null) > leaseExpiresAt
}

/**
 * What became of a message that a claim found. `ended`: it has expired or was dead-lettered, and that may
 * have changed other messages, so rows that were read before have to be read again.
 */
export type Claimed = Delivery | 'ended' | 'blocked'

/** Leases a message if it may be delivered, and sets it aside if not. */
export function* leaseOrSetAside(
  tx: Transaction,
  queue: Queue,
  row: ContentRow,
  claim: Claim,
): Steps<Claimed> {
  const stopped = (yield* isSetAside(tx, queue, row))
    ? 'ended'
    : yield* stop(tx, queue, row, claim.gate)
  if (stopped === undefined) return yield* lease(tx, queue, row, claim)
  claim.budget.setAside -= 1
  return stopped
}

/** Takes a message out of the way that must never be delivered: expired, or out of receives. */
export function* isSetAside(tx: Transaction, queue: Queue, row: ContentRow): Steps<boolean> {
  const isJob = row.job !== null
  const expiresAt = expiryOf(queue, row, isJob)
  if (expiresAt <= tx.now) {
    const apart = row.body === null ? 1 : 0
    yield* expire(tx, queue, { ...row, state: ready, apart, is_job: isJob ? 1 : 0 }, expiresAt)
    return true
  }
  return hasUsedUpReceives(queue, row) && (yield* moveUsedUp(tx, queue, row))
}

/** Diverts or blocks a message that the gate does not let through; others are counted. */
export function* stop(
  tx: Transaction,
  queue: Queue,
  row: ContentRow,
  gate: Gate | undefined,
): Steps<'ended' | 'blocked' | undefined> {
  if (gate === undefined) return undefined
  const kind = kindOf(queue, row)
  yield* gate.prepare(kind)
  const verdict = gate.verdict(kind)
  if (verdict === 'open') {
    gate.take(kind)
    return undefined
  }
  if (verdict !== 'closed' && (yield* divert(tx, queue, row, verdict.divertedBy))) return 'ended'
  yield* block(tx, queue, row, gate.bucketFor(kind))
  return 'blocked'
}

function* lease(tx: Transaction, queue: Queue, row: ContentRow, claim: Claim): Steps<Delivery> {
  const token = yield* tx.nextToken()
  const { dueAt, heldUntil } = holdLeased(queue, row, row.job !== null, claim.leaseExpiresAt)
  const values = [dueAt, token, heldUntil, row.receive_count + 1, tx.now] as const
  if (claim.gate === undefined) yield* tx.run(sql.lease, ...values, row.sequence)
  else
    yield* tx.run(
      sql.leaseGated,
      ...values,
      queue.countsRunning ? runningBucket : null,
      row.sequence,
    )
  yield* countLeased(tx, queue, [row])
  const { leaseExpiresAt } = claim
  return yield* deliveryFromRow(row, tx, newLease(tx, queue, row, { token, leaseExpiresAt }))
}

/** Counts messages that were leased. */
export function* countLeased(
  tx: Transaction,
  queue: Queue,
  rows: readonly Pick<ContentRow, 'group_name'>[],
): Steps<void> {
  const count = rows.length
  tx.count(queue, 'ready', -count)
  tx.count(queue, 'leased', count)
  tx.count(queue, 'received', count)
  // The lock of a FIFO group is set by the claim, once for all that it took of the group.
  if (queue.settings.type === 'standard') yield* tenantsLeased(tx, queue, rows)
}

/** The lease of a message that is claimed now. */
export function newLease(
  { now }: View,
  queue: Queue,
  row: ContentRow,
  { token, leaseExpiresAt }: { readonly token: number; readonly leaseExpiresAt: number },
): Lease {
  return {
    queueId: queue.id,
    token,
    leasedAt: now,
    leaseExpiresAt,
    receiveCount: row.receive_count + 1,
    firstReceivedAt: row.receive_count === 0 ? now : row.first_received_at,
  }
}

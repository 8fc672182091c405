/**
 * What each database does in its own way, because the speed of the store depends on it: storing, leasing
 * and acknowledging ordinary messages and jobs, many at a time. Everything else about messages is a rule.
 */

import type { Delivery, NewMessage } from '../../backends/backend.ts'
import type { Receipt } from '../../core/receipt.ts'
import type { Queue } from '../queues/queue.ts'
import type { Step } from '../steps.ts'
import type { ContentRow } from './content-row.ts'

export interface NativeMessages {
  /** Stores messages that have nothing but a body; returns their sequence numbers. */
  storePlain(queue: Queue, messages: readonly NewMessage[]): Step<readonly number[]>
  /** The same for jobs. Every plain message behind them has its own expiry already. */
  storePlainJobs(queue: Queue, jobs: readonly PlainJob[]): Step<readonly number[]>
  /**
   * A claim from a standard queue without a gate, if nothing is due there and no bucket holds anything;
   * undefined otherwise, or if the oldest messages are not ordinary, and nothing is leased.
   */
  claimOrdinary(queue: Queue, claim: OrdinaryClaim): Step<readonly Delivery[] | undefined>
  /**
   * Leases the oldest messages of a standard queue, if all that are asked for were never received before,
   * will outlive their lease and have no tenant; undefined otherwise, and nothing is leased.
   */
  leaseOldest(queue: Queue, lease: BulkLease): Step<readonly Delivery[] | undefined>
  /** Leases rows that were never received before, the oldest of a queue. */
  leaseNew(queue: Queue, rows: readonly ContentRow[], lease: BulkLease): Step<readonly Delivery[]>
  /**
   * Acknowledges ordinary messages, and completes ordinary jobs, by live leases on a standard queue; each
   * message is named once. Returns the sequence numbers of those that it has settled.
   */
  acknowledge(queue: Queue, acknowledgements: readonly Acknowledgement[]): Step<ReadonlySet<number>>
}

/** A job without anything but its body. */
export interface PlainJob {
  readonly type: string
  readonly owner: string | null
  readonly details: string
  readonly body: string
}

export interface OrdinaryClaim {
  readonly max: number
  readonly prefetch: number
  readonly leaseExpiresAt: number
}

export interface BulkLease {
  readonly max: number
  /** How many more may be claimed, if they are new. */
  readonly ahead: number
  readonly leaseExpiresAt: number
}

export interface Acknowledgement {
  readonly receipt: Receipt
  /** The result of a job, as JSON. */
  readonly result: string | undefined
}

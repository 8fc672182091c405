/** A received message, and how it is settled. */
import type { Failure } from '../core/failure.ts'
import type { LogLine } from '../core/log-line.ts'
import type { MillraceError } from '../core/millrace-error.ts'
import type { Spending } from './budget-store.ts'
import type { AddItems, EndBatch } from './collector-store.ts'
import type { EmittedJob, EmittedMessage } from './emitted.ts'
import type { EmittedFlow, EmittedStart, MarkUnits, UnitKey } from './flow-store.ts'
import type { DeliveredJob, EnqueuedJob } from './job-store.ts'
import type { QueueName, RefusedLease, StoredMessage } from './stored-message.ts'

export type SendResult =
  | { readonly status: 'created' | 'duplicate'; readonly id: string; readonly sequence: number }
  | { readonly status: 'refused'; readonly error: MillraceError }

export interface Delivery extends StoredMessage {
  readonly receipt: string
  /** Rises with every lease of the store: the fencing token for a handler's own writes. */
  readonly token: number
  /** When the lease began and when it ends, by the store's clock; other clocks may differ from it. */
  readonly leasedAt: number
  readonly leaseExpiresAt: number
  /** What is known about the job, when the message is one. */
  readonly job: DeliveredJob | null
  /** The unit of a flow that its acknowledgement marks. */
  readonly unit: UnitKey | null
}

export type Outcome =
  /** Done: the message is deleted, and a job completed with its result, which is JSON. */
  | {
      readonly kind: 'acknowledge'
      readonly result?: string
      /**
       * Also by a receipt of an earlier lease, as SQS has it: only on standard queues, never while
       * another lease is live, and never a job, whose end belongs to the holder of its lease.
       */
      readonly anyLease?: boolean
    }
  /** Retried after a delay; the receive counts. A job stores the error, a safe summary, and the failure. */
  | {
      readonly kind: 'retry'
      readonly delayMs: number
      readonly error?: string
      readonly failure?: Failure
    }
  /** Ready again: the receive does not count. */
  | { readonly kind: 'release' }
  /** Moved to the dead-letter queue now. A job fails, also without such a queue. */
  | { readonly kind: 'deadLetter'; readonly reason: string; readonly failure?: Failure }

export interface Settlement {
  readonly receipt: string
  readonly outcome: Outcome
  /** Messages that are sent in the commit of this settlement. */
  readonly emits?: readonly EmittedMessage[]
  /** Jobs that are enqueued in the same commit. */
  readonly jobs?: readonly EmittedJob[]
  /** Lines that the handler has logged. A job keeps them with the attempt that is settled. */
  readonly logs?: readonly LogLine[]
  /** Amounts that were spent on the delivery, if they are to be counted with the settlement. */
  readonly spent?: readonly Spending[]
  /** Only an acknowledgement may have the rest. It is in the same commit. */
  readonly flows?: readonly EmittedFlow[]
  readonly marks?: readonly MarkUnits[]
  readonly starts?: readonly EmittedStart[]
  readonly items?: readonly AddItems[]
  readonly batch?: EndBatch
  /**
   * Writes the caller's own rows in the transaction of the settlement, on a connection that it may use
   * until it ends. If it throws, this settlement is undone and refused with `within_failed`; its
   * neighbours are settled. It may run again when a commit must be repeated. An embedded store refuses one
   * that returns a promise. Only where the backend has `callerTransactions`.
   */
  readonly within?: (connection: object) => unknown
  /**
   * The caller returns the message to its carrier. So after a retry or a release the store waits for it to
   * arrive again, before it sends another.
   */
  readonly returnsToCarrier?: true | undefined
}

export interface Settle extends QueueName {
  readonly settlements: readonly Settlement[]
}

export type SettleResult =
  | {
      readonly status: 'settled'
      readonly emitted: readonly SendResult[]
      readonly enqueued: readonly EnqueuedJob[]
    }
  | RefusedLease
  | { readonly status: 'refused'; readonly error: MillraceError }

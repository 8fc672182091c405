/** Messages and leases as every part of the port names them. */
import type { MessageAttribute, MessageState } from '../core/message.ts'
import type { MillraceError } from '../core/millrace-error.ts'

export interface Page<T> {
  readonly items: readonly T[]
  /** Pass as `after` to read on; absent on the last page. */
  readonly next?: string
}

export interface QueueName {
  readonly queue: string
}

export interface LeaseStates extends QueueName {
  readonly receipts: readonly string[]
}

export type LeaseState = 'live' | LeaseRefusal

export interface Extend extends QueueName {
  readonly leases: readonly Extension[]
}

export interface Extension {
  readonly receipt: string
  readonly visibilityMs: number
  /**
   * Also by a receipt whose lease has lapsed, or was followed by another one, as SQS has it: only on
   * standard queues, never a job, and never while another lease on the message is live.
   */
  readonly anyLease?: boolean
}

/**
 * Why a lease could not be used: `gone` (the message was deleted, purged or has expired), `stale`
 * (the message was leased again or released), `lapsed` (the lease ran out).
 */
export type LeaseRefusal = 'gone' | 'stale' | 'lapsed'

export type LeaseResult =
  | { readonly status: 'extended'; readonly leaseExpiresAt: number }
  | RefusedLease
  | { readonly status: 'refused'; readonly error: MillraceError }

export interface RefusedLease {
  readonly status: LeaseRefusal
  /** Set where `anyLease` would apply, but another lease is live. */
  readonly isHeld?: true
}

export interface StoredMessage {
  readonly id: string
  readonly sequence: number
  readonly body: string
  readonly attributes: Readonly<Record<string, MessageAttribute>>
  readonly systemAttributes: Readonly<Record<string, string>>
  readonly group: string | null
  readonly deduplicationId: string | null
  readonly sentAt: number
  readonly firstReceivedAt: number | null
  readonly receiveCount: number
  readonly deadLetterOrigin: DeadLetterOrigin | null
}

export interface DeadLetterOrigin {
  /** The queue that dead-lettered the message. */
  readonly source: string
  readonly at: number
  /** Why it was dead-lettered; null when it only used up its receives. */
  readonly reason: string | null
}

export interface PeekedMessage extends StoredMessage {
  readonly state: MessageState
  /** When a leased or delayed message can be received again. */
  readonly dueAt: number | null
}

export interface FlowKey {
  /** The name of the flow's declaration, such as `ingestion-dev-extraction`. */
  readonly flow: string
  /** The caller's id of this flow: a document, an order. */
  readonly id: string
}

export interface UnitKey extends FlowKey {
  readonly unit: string
}

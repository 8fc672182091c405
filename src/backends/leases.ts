/** Leases as the port names them: by receipts of a queue. */
import type { MillraceError } from '../core/millrace-error.ts'

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
 * (the message was given to somebody else or handed back), `lapsed` (the lease ran out).
 */
export type LeaseRefusal = 'gone' | 'stale' | 'lapsed'

export type LeaseResult =
  | { readonly status: 'extended'; readonly leaseExpiresAt: number }
  | RefusedLease
  | { readonly status: 'refused'; readonly error: MillraceError }

export interface RefusedLease {
  readonly status: LeaseRefusal
  /** Set where `anyLease` was asked for and could be granted, but another lease is live. */
  readonly isHeld?: true
}

/**
 * Handoff: the part of a backend that lets a person hold a message. A claim is a lease with a name on
 * it; it ends like any other, by a settlement or by running out, and what was written down stays.
 */
import type { LeaseRefusal, Page, PeekedMessage } from './backend.ts'

export interface HandoffStore {
  /** Messages that wait or are claimed, oldest first, with who has them. */
  list(request: ListHandoffs): Promise<Page<HandoffRecord>>
  read(request: HandoffId): Promise<HandoffRecord | undefined>
  /** Leases one message, or the one that has waited longest; undefined when there is none to claim. */
  claim(request: ClaimHandoff): Promise<HandoffRecord | undefined>
  renew(request: RenewHandoff): Promise<HandoffResult>
  /** Anybody may write something down, also without a claim. */
  note(request: NoteHandoff): Promise<HandoffResult>
  /** Done: the message is acknowledged, and the decision is kept. */
  resolve(request: EndHandoff): Promise<HandoffResult>
  /** Back to those that wait; the claim does not count as a receive. */
  giveBack(request: EndHandoff): Promise<HandoffResult>
  /** What happened to a message, oldest first; also after it was resolved, for as long as it is kept. */
  history(request: HandoffId): Promise<readonly HandoffEvent[]>
}

export interface HandoffId {
  readonly queue: string
  /** Of the message. */
  readonly id: string
}

export interface ListHandoffs {
  readonly queue: string
  readonly by?: string
  readonly state?: 'waiting' | 'claimed'
  readonly after?: string
  readonly limit: number
}

export interface ClaimHandoff {
  readonly queue: string
  /** Default: the one that has waited longest. */
  readonly id?: string
  /** The person. */
  readonly by: string
  /** Default: the queue's visibility timeout. */
  readonly leaseMs?: number
}

export interface RenewHandoff extends HandoffId {
  readonly by: string
  readonly leaseMs?: number
}

export interface NoteHandoff extends HandoffId {
  readonly by: string
  readonly note: string
}

export interface EndHandoff extends HandoffId {
  readonly by: string
  /** What was decided, or why it goes back; a short text. */
  readonly note?: string
}

export interface HandoffRecord {
  readonly message: PeekedMessage
  readonly claim: HandoffClaim | null
  readonly notes: number
}

export interface HandoffClaim {
  readonly by: string
  readonly at: number
  readonly until: number
  readonly token: number
}

export type HandoffResult =
  | { readonly status: 'done'; readonly handoff: HandoffRecord | null }
  /** Somebody else holds it, or nobody does. */
  | { readonly status: 'not_yours'; readonly holder: string | null }
  | { readonly status: LeaseRefusal }

export interface HandoffEvent {
  readonly at: number
  readonly by: string
  readonly event: 'claimed' | 'renewed' | 'noted' | 'resolved' | 'returned' | 'lapsed'
  readonly note: string | null
}

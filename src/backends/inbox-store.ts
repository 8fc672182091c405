/**
 * Inboxes: the part of a backend that lets a person claim a message. A claim is a lease with the name of
 * a person. It ends like any lease, by a settlement or by running out. Its history stays.
 */
import type { EmittedMessage } from './emitted.ts'
import type { LeaseRefusal, Page, PeekedMessage, QueueName } from './stored-message.ts'

export interface InboxStore {
  /** The messages of an inbox, oldest first, with the person who has claimed each. */
  list(request: ListInboxItems): Promise<Page<InboxItemRecord>>
  counts(request: CountInboxItems): Promise<InboxCounts>
  read(request: InboxItemId): Promise<InboxItemRecord | undefined>
  /** Leases one message, or the one that has waited longest. A claim that the person has stays as it is. */
  claim(request: ClaimInboxItem): Promise<ClaimResult>
  /** Moves the end of a claim to `leaseMs` from now. */
  renew(request: RenewInboxItem): Promise<InboxResult>
  /** Adds a note; no claim is needed. */
  note(request: NoteInboxItem): Promise<InboxResult>
  /** Done: the message is acknowledged, and the decision is kept. */
  resolve(request: ResolveInboxItem): Promise<InboxResult>
  /** Releases the message; the claim does not count as a receive. */
  release(request: EndInboxItem): Promise<InboxResult>
  /** What happened to a message, oldest first; also after it was resolved, for as long as it is kept. */
  history(request: InboxItemId): Promise<readonly InboxEvent[]>
  /** The queues that were used as inboxes, by name; cheap, however full they are. */
  used(): Promise<readonly InboxRecord[]>
}

export interface InboxItemId extends QueueName {
  /** Of the message. */
  readonly id: string
}

/**
 * `waiting`: can be claimed. `claimed`: a person has it. `leased`: a receiver without a name has
 * it, or it waits for its retry. `delayed`: not there yet, and in no list.
 */
export type InboxItemState = 'waiting' | 'claimed' | 'leased' | 'delayed'

export interface ListInboxItems extends QueueName {
  /** Only what this person has. */
  readonly by?: string
  /** Default: all that are not delayed. */
  readonly state?: 'waiting' | 'claimed'
  readonly after?: string
  readonly limit: number
}

export interface CountInboxItems extends QueueName {
  /** Whose claims to count as `mine`. */
  readonly by?: string
}

export interface InboxCounts {
  readonly waiting: number
  readonly claimed: number
  /** Of those claimed; 0 when no person was named. */
  readonly mine: number
  readonly leased: number
}

export interface ClaimInboxItem extends QueueName {
  /** Default: the one that has waited longest. */
  readonly id?: string
  /** The person. */
  readonly by: string
  /** Default: the queue's visibility timeout. */
  readonly leaseMs?: number
  /** Names of kill switches that the caller's own environment has on, as for a receive. */
  readonly heldNames?: readonly string[]
}

export type ClaimResult =
  | { readonly status: 'claimed'; readonly item: InboxItemRecord }
  /** Nothing waits that could be claimed. */
  | { readonly status: 'none' }
  /** It is claimed or leased; null for a receiver without a name. */
  | { readonly status: 'taken'; readonly holder: string | null; readonly until: number }
  /**
   * It cannot be claimed now: it is delayed, held by a kill switch or a ceiling, or in a FIFO queue
   * behind another one of its group.
   */
  | { readonly status: 'not_ready'; readonly because: 'delayed' | 'held' | 'behind' }
  | { readonly status: 'gone' }

/** What only the holder of a claim may do. */
interface HeldInboxItem extends InboxItemId {
  readonly by: string
  /** The token of the claim. Default: the claim that this person has. */
  readonly token?: number
}

export interface RenewInboxItem extends HeldInboxItem {
  /** Default: the queue's visibility timeout. */
  readonly leaseMs?: number
}

export interface NoteInboxItem extends InboxItemId {
  readonly by: string
  readonly note: string
}

export interface EndInboxItem extends HeldInboxItem {
  /** What was decided, or why it is released; a short text. */
  readonly note?: string
}

export interface ResolveInboxItem extends EndInboxItem {
  /** Messages that are sent in the commit of the decision. */
  readonly emits?: readonly EmittedMessage[]
}

export interface InboxItemRecord {
  readonly message: PeekedMessage
  readonly state: InboxItemState
  readonly claim: InboxClaim | null
  /** How many notes there are. */
  readonly notes: number
}

export interface InboxClaim {
  readonly by: string
  readonly at: number
  readonly until: number
  /** Rises with every lease of the store: the fencing token for what a person does elsewhere. */
  readonly token: number
}

export type InboxResult =
  /** Null once it is resolved. */
  | { readonly status: 'done'; readonly item: InboxItemRecord | null }
  /** Another person has it, or a receiver without a name, or none. */
  | { readonly status: 'not_yours'; readonly holder: string | null }
  /** `lapsed`: the claim ran out, and there is no other. `stale`: the token is of an earlier claim. */
  | { readonly status: LeaseRefusal }

/** `gone`: the message was deleted, purged or expired while it was claimed. */
export type InboxEventName =
  | 'claimed'
  | 'renewed'
  | 'noted'
  | 'resolved'
  | 'released'
  | 'lapsed'
  | 'gone'

export interface InboxEvent {
  readonly event: InboxEventName
  /** Renewals in a row are one entry, with the time of the last. */
  readonly at: number
  /** The person. For a claim that lapsed, or whose message is gone: the person who had it. */
  readonly by: string
  readonly note: string | null
}

export interface InboxRecord {
  readonly queue: string
  /** The time of the latest event. */
  readonly lastAt: number
}

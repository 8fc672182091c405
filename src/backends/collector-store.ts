/**
 * Collectors: the part of a backend that stages items of one key and schedules one trigger for them.
 * A batch belongs to whoever holds the lease of the trigger it was begun with, and ends with the
 * settlement of that trigger, so no item is merged twice and none is lost.
 */
import type { LeaseRefusal, NewMessage, Page } from './backend.ts'

export interface CollectorStore {
  /** Stages items; the first one of a key schedules its trigger in the same commit. */
  add(request: AddItems): Promise<readonly AddedItem[]>
  /** Takes what is staged for a key as the batch of a trigger's delivery. */
  begin(request: BeginBatch): Promise<BatchResult>
  /** Undefined when nothing is staged for the key and nothing runs. */
  read(request: CollectorKey): Promise<CollectedKey | undefined>
  /** Keys that have something staged or running. */
  list(request: ListKeys): Promise<Page<CollectedKey>>
  /** Makes the trigger of a key due now, or sends one; false when nothing is staged. */
  flush(request: CollectorKey): Promise<boolean>
  /** Sends triggers for keys that are overdue and have none any more: it was purged, or expired. */
  repair(request: RepairKeys): Promise<RepairedKeys>
}

export interface CollectorKey {
  /** The name of the collector's declaration, such as `replies-dev-conversations`. */
  readonly collector: string
  readonly key: string
}

export interface NewItem {
  /** Unique for its key. */
  readonly id: string
  /** JSON. */
  readonly body: string
  /** Items are merged in this order, and in that of their arrival where it is the same. */
  readonly order: number
}

export interface AddItems extends CollectorKey {
  readonly items: readonly NewItem[]
  /** Where triggers go. It is remembered with the key, for the triggers that follow. */
  readonly trigger: { readonly queue: string; readonly message: NewMessage }
  /** From the first item to the trigger, at most the longest delay of a message. */
  readonly windowMs: number
  /** Each further item begins the window anew, until this long after the first. */
  readonly maxWaitMs?: number
  /** The trigger is due at once when so much is staged. */
  readonly maxItems: number
  readonly maxBytes: number
  /** How long the ids of merged items are remembered. */
  readonly rememberMs: number
}

export interface AddedItem {
  readonly id: string
  readonly status: 'staged' | 'duplicate'
}

export interface BeginBatch extends CollectorKey {
  /** The trigger queue. */
  readonly queue: string
  readonly receipt: string
  readonly maxItems: number
  readonly maxBytes: number
}

export interface StagedItem extends NewItem {
  readonly stagedAt: number
}

export type BatchResult =
  | { readonly status: 'begun'; readonly items: readonly StagedItem[] }
  /** Somebody holds the lease of another trigger of this key, and will see to what is staged. */
  | { readonly status: 'busy' }
  | { readonly status: 'nothing' }
  | { readonly status: LeaseRefusal }

export interface CollectedKey extends CollectorKey {
  readonly staged: number
  readonly bytes: number
  /** When the oldest staged item came. */
  readonly since: number | null
  /** When the next trigger is due; null while none is scheduled. */
  readonly dueAt: number | null
  /** Items of the batch that is being merged. */
  readonly running: number
  readonly items: readonly StagedItem[]
}

export interface ListKeys {
  /** Names that begin like this; `''` for all. */
  readonly prefix: string
  readonly after?: string
  readonly limit: number
}

export interface RepairKeys {
  /** So long after it was due, a trigger is missed. */
  readonly overdueMs: number
  readonly limit: number
}

export interface RepairedKeys {
  readonly repaired: readonly CollectorKey[]
  /** Their trigger lies in a dead-letter queue, where somebody has to look at it. */
  readonly stuck: readonly CollectorKey[]
}

/** Ends, with the settlement of its trigger, the batch that was begun with it. */
export type EndBatch = CollectorKey

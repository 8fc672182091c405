/**
 * Collectors: the part of a backend that stages items of one key and schedules one trigger for them.
 * A batch belongs to the holder of the lease of its trigger. It ends with the settlement of that
 * trigger, so no item is merged twice and none is lost.
 */
import type { NewMessage } from '../core/message.ts'
import type { LeaseRefusal, Page } from './stored-message.ts'

export interface CollectorStore {
  /** Stages items; the first one of a key schedules its trigger in the same commit. */
  add(request: AddItems): Promise<readonly AddedItem[]>
  /**
   * Takes what is staged for a key, in order and up to the limits, as the batch of a trigger's
   * delivery. When the lease of its holder ends, the batch is staged again. A batch whose trigger is
   * dead-lettered is kept apart. It belongs to that trigger alone when the trigger is redriven.
   */
  begin(request: BeginBatch): Promise<BatchResult>
  /** Undefined when nothing is staged, running or kept for the key. */
  read(request: ReadKey): Promise<CollectedKey | undefined>
  /** Keys that have something staged, running or kept, by name. */
  list(request: ListKeys): Promise<Page<KeySummary>>
  /**
   * Makes the trigger of a key due now, or sends one, for what is staged and for each batch that is kept.
   * False when there is neither.
   */
  flush(request: CollectorKey): Promise<boolean>
  /**
   * Checks keys that are overdue, longest first. Sends a trigger where it was purged or has expired. A
   * key that was checked is not checked again for `overdueMs`.
   */
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
  /** The size of the body in the clear, if it is sealed. */
  readonly bytes?: number
  /** Kept beside the item, as beside a message. */
  readonly systemAttributes?: Readonly<Record<string, string>>
}

export interface AddItems extends CollectorKey {
  readonly items: readonly NewItem[]
  /**
   * The queue and the message of triggers; the store sets their delay. Both are stored with the key, for
   * the triggers that follow.
   */
  readonly trigger: { readonly queue: string; readonly message: NewMessage }
  /** Time from the first item to the trigger; the item that opens the window decides. */
  readonly windowMs: number
  /** Each further item restarts the window, until this long after the first. */
  readonly maxWaitMs?: number
  /** The trigger is due at once when this much is staged. */
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
  /** Another trigger of this key is leased; its holder will merge what is staged. */
  | { readonly status: 'busy' }
  | { readonly status: 'nothing' }
  | { readonly status: LeaseRefusal }

/**
 * Where the latest trigger of a key is: `waiting` for its time, `due` and not yet received, `retrying`
 * after a failure, `held` by its receiver, `dead` in a dead-letter queue, or `none`.
 */
export type TriggerState = 'waiting' | 'due' | 'retrying' | 'held' | 'dead' | 'none'

export interface KeySummary extends CollectorKey {
  /** Items that wait, and the bytes of their JSON. */
  readonly staged: number
  readonly bytes: number
  /** When the oldest of them was added. */
  readonly since: number | null
  readonly trigger: TriggerState
  /** When the next trigger is due; null while none is scheduled. */
  readonly dueAt: number | null
  /** Items of the batch that is being merged. */
  readonly running: number
  /** Items of batches whose triggers were dead-lettered. */
  readonly kept: number
}

export interface CollectedKey extends KeySummary {
  /** What is staged, in order, up to the limit that was asked for. */
  readonly items: readonly StagedItem[]
  /** What is kept, batch by batch, up to the same limit. */
  readonly keptItems: readonly StagedItem[]
}

export interface ReadKey extends CollectorKey {
  /** How many items to show at most. */
  readonly limit: number
}

export interface ListKeys {
  /** One collector alone. Default: all whose names begin like the prefix. */
  readonly collector?: string
  /** Default `''`, all. */
  readonly prefix?: string
  readonly after?: string
  readonly limit: number
}

export interface RepairKeys {
  /** How long after it was due a trigger counts as missing. */
  readonly overdueMs: number
  /** How many keys to check. */
  readonly limit: number
}

export interface RepairedKeys {
  readonly repaired: readonly CollectorKey[]
  /**
   * Their trigger is in a dead-letter queue and must be redriven or flushed, which merges what is kept
   * with it. The next item also merges what is staged.
   */
  readonly stuck: readonly CollectorKey[]
}

/** Ends, with the settlement of its trigger, the batch that was begun with it. */
export type EndBatch = CollectorKey

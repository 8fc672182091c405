/** The collectors of an open app, by the keys under which they were declared. */

import type { Backend, Page } from '../backends/backend.ts'
import type {
  AddedItem,
  AddItems,
  CollectedKey,
  CollectorStore,
  KeySummary,
  StagedItem,
} from '../backends/collector-store.ts'
import type { DeclaredCollector, ItemInput } from '../contracts/collector-declaration.ts'
import type { DeclaredFlowParts, PartOf } from '../contracts/define-app.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { pageOptions, refuseUnknownOptions } from '../core/options.ts'
import { supported } from '../core/supported.ts'
import type { Emitter } from '../jobs/emitter.ts'
import { createTriggerHandler, type TriggerHandler } from './collector-handler.ts'
import { type AddOptions, itemRequest } from './collector-items.ts'
import {
  CollectorRegistry,
  type CollectorRegistrySetup,
  type NamedCollector,
} from './collector-registry.ts'

/** The keys of an app's collectors. */
export type CollectorName<Parts> = keyof PartOf<Parts, 'collectors'> & string

/** A collector by its key. */
export type CollectorAt<Parts, Name extends CollectorName<Parts>> = PartOf<
  Parts,
  'collectors'
>[Name]

export type CollectorHandles<Parts> = {
  readonly [Name in CollectorName<Parts>]: CollectorHandle<CollectorAt<Parts, Name>>
}

/**
 * The arguments with which a handler collects an item. One of several lists and not a type parameter,
 * so that a handler may be written for fewer parts of an app than it has.
 */
export type Collecting<Parts> = {
  readonly [Name in CollectorName<Parts>]: [
    collector: Name,
    item: ItemInput<CollectorAt<Parts, Name>>,
    options?: AddOptions,
  ]
}[CollectorName<Parts>]

export interface Collected {
  /** `duplicate`: an item of this id is staged, or was merged not long ago. */
  readonly status: AddedItem['status']
  readonly key: string
  readonly id: string
}

/** An item that waits, as it was given. */
export interface WaitingItem extends Pick<StagedItem, 'id' | 'order' | 'stagedAt'> {
  readonly item: unknown
}

/** What is known about a key at this moment. */
export interface InspectedKey extends Omit<CollectedKey, 'items' | 'keptItems'> {
  /** The first 1,000 in order. */
  readonly items: readonly WaitingItem[]
  /** Items of batches whose triggers were dead-lettered, 1,000 at most. */
  readonly keptItems: readonly WaitingItem[]
}

export interface ListKeysOptions {
  /** Keys per page, 1 to 1000. Default 10. */
  readonly limit?: number
  /** The `next` of the page before. */
  readonly after?: string
}

export interface CollectorHandle<Collector = DeclaredCollector> {
  /** The collector's name in the store. */
  readonly name: string
  /** Stages an item. The first one of a key sends the trigger that ends its window. */
  add(item: ItemInput<Collector>, options?: AddOptions): Promise<Collected>
  /** Undefined when nothing is staged, running or kept for the key. */
  inspect(key: string): Promise<InspectedKey | undefined>
  /** Keys that have something staged, running or kept, by name. */
  list(options?: ListKeysOptions): Promise<Page<KeySummary>>
  /** Ends the window of a key now, and tries kept batches again; false when there is neither. */
  flush(key: string): Promise<boolean>
}

export interface Collectors<Parts> {
  readonly collectors: CollectorHandles<Parts>
  /** For the contexts of handlers. */
  readonly prepare: (collector: string, item: unknown, options?: AddOptions) => Promise<AddItems>
  /** What a worker does with triggers, by the keys of their queues. */
  readonly handlers: ReadonlyMap<string, TriggerHandler>
}

export interface CollectorsSetup extends CollectorRegistrySetup {
  readonly backend: Pick<Backend, 'collectors'>
  readonly emitter: Pick<Emitter, 'message'>
}

/** An app with collectors is not opened on a backend that keeps none. */
export function refuseCollectors(
  { collectors = {} }: DeclaredFlowParts,
  { capabilities, collectors: store }: Pick<Backend, 'capabilities' | 'collectors'>,
): void {
  if (capabilities.collectors && store !== null) return
  const allowed = `none on ${capabilities.name}`
  const violations = Object.keys(collectors).map((key) => ({
    field: `collectors.${key}`,
    given: 'a collector',
    allowed,
  }))
  if (violations.length > 0) throw MillraceError.invalid(violations, 'unsupported')
}

export function createCollectors<Parts>(setup: CollectorsSetup): Collectors<Parts> {
  const { backend, emitter } = setup
  const declared = new CollectorRegistry(setup)
  const store = (): CollectorStore => supported(backend.collectors)
  const handles = declared.all.map((one) => [one.key, createHandle(store, one)])
  return {
    // Made from this very app, key by key; only the types of its items are added.
    collectors: Object.freeze(Object.fromEntries(handles)) as CollectorHandles<Parts>,
    prepare: async (key, item, options) => itemRequest(declared.require(key), item, options),
    handlers: new Map(
      declared.all.map((one) => [
        one.triggers.key,
        createTriggerHandler({ collector: one, store, emitter }),
      ]),
    ),
  }
}

function createHandle(store: () => CollectorStore, collector: NamedCollector): CollectorHandle {
  const { name } = collector
  return Object.freeze({
    name,
    add: async (item: unknown, options?: AddOptions) => {
      const request = await itemRequest(collector, item, options)
      const [added] = await store().add(request)
      // A backend answers each item, so this is a backend that breaks the port.
      if (added === undefined) throw new MillraceError('store_failed')
      return { status: added.status, key: request.key, id: added.id }
    },
    inspect: async (key: string) => {
      const limit = limits.pageSize.max
      const found = await store().read({ collector: name, key, limit })
      return (
        found && {
          ...found,
          items: found.items.map(waitingItem),
          keptItems: found.keptItems.map(waitingItem),
        }
      )
    },
    list: async (options: ListKeysOptions = {}) => {
      refuseUnknownOptions(options, pageOptions)
      const { limit = 10, after } = options
      return store().list({ collector: name, limit, ...(after !== undefined && { after }) })
    },
    flush: async (key: string) => store().flush({ collector: name, key }),
  })
}

function waitingItem({ id, order, stagedAt, body }: StagedItem): WaitingItem {
  return { id, order, stagedAt, item: JSON.parse(body) }
}

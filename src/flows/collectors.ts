/** The collectors of an open app, by the keys of their declaration. */

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
import type { Traces } from '../observability/traces.ts'
import { createTriggerHandler, type TriggerHandler } from './collector-handler.ts'
import { type AddOptions, itemRequest } from './collector-items.ts'
import {
  CollectorRegistry,
  type CollectorRegistrySetup,
  type NamedCollector,
} from './collector-registry.ts'
import { tracedAdd, tracedItem } from './traced-items.ts'

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
 * The arguments of `collect` in a handler. A union of tuples and not a type parameter, so that a handler can
 * be typed for only some of the app's collectors.
 */
export type Collecting<Parts> = {
  readonly [Name in CollectorName<Parts>]: [
    collector: Name,
    item: ItemInput<CollectorAt<Parts, Name>>,
    options?: AddOptions,
  ]
}[CollectorName<Parts>]

export interface Collected {
  /** `duplicate`: an item with this id is staged, or was merged recently. */
  readonly status: AddedItem['status']
  readonly key: string
  readonly id: string
}

/** A staged item, as it was added. */
export interface WaitingItem extends Pick<StagedItem, 'id' | 'order' | 'stagedAt'> {
  readonly item: unknown
}

/** The current state of a key. */
export interface InspectedKey extends Omit<CollectedKey, 'items' | 'keptItems'> {
  /** The first 1,000 items, in order. */
  readonly items: readonly WaitingItem[]
  /** Items of batches whose triggers were dead-lettered, at most 1,000. */
  readonly keptItems: readonly WaitingItem[]
}

export interface ListKeysOptions {
  /** Keys per page, 1 to 1000. Default 10. */
  readonly limit?: number
  /** The `next` of the previous page. */
  readonly after?: string
}

export interface CollectorHandle<Collector = DeclaredCollector> {
  /** The collector's name in the store. */
  readonly name: string
  /** Stages an item. The first item of a key sends the trigger that ends its window. */
  add(item: ItemInput<Collector>, options?: AddOptions): Promise<Collected>
  /** Undefined if the key has no items that are staged, in a running batch, or kept. */
  inspect(key: string): Promise<InspectedKey | undefined>
  /** Keys with items that are staged, in a running batch, or kept. Sorted by name. */
  list(options?: ListKeysOptions): Promise<Page<KeySummary>>
  /** Ends the window of a key now and retries kept batches. Resolves with false if there was neither. */
  flush(key: string): Promise<boolean>
}

export interface Collectors<Parts> {
  readonly collectors: CollectorHandles<Parts>
  /** For the contexts of handlers. */
  readonly prepare: (collector: string, item: unknown, options?: AddOptions) => Promise<AddItems>
  /** The handlers of triggers, by the keys of their queues. */
  readonly handlers: ReadonlyMap<string, TriggerHandler>
}

export interface CollectorsSetup extends CollectorRegistrySetup {
  readonly backend: Pick<Backend, 'collectors'>
  readonly emitter: Pick<Emitter, 'message'>
  readonly traces?: Traces | undefined
}

/** Refuses an app with collectors on a backend that does not support them. */
export function refuseCollectors(
  { collectors = {} }: DeclaredFlowParts,
  { capabilities, collectors: store }: Pick<Backend, 'capabilities' | 'collectors'>,
): void {
  if (capabilities.collectors && store !== null) return
  const allowed = `no collectors: the backend ${capabilities.name} does not support them`
  const violations = Object.keys(collectors).map((key) => ({
    field: `collectors.${key}`,
    given: 'a collector',
    allowed,
  }))
  if (violations.length > 0) throw MillraceError.invalid(violations, 'unsupported')
}

export function createCollectors<Parts>(setup: CollectorsSetup): Collectors<Parts> {
  const { backend, emitter, traces } = setup
  const declared = new CollectorRegistry(setup)
  const store = (): CollectorStore => tracedAdd(supported(backend.collectors), traces)
  const handles = declared.all.map((one) => [one.key, createHandle(store, one)])
  return {
    // The handles have the keys of this app. The cast only adds the types of their items.
    collectors: Object.freeze(Object.fromEntries(handles)) as CollectorHandles<Parts>,
    prepare: async (key, item, options) =>
      tracedItem(await itemRequest(declared.require(key), item, options), traces),
    handlers: new Map(
      declared.all.map((one) => [
        one.triggers.key,
        createTriggerHandler({ collector: one, store, emitter, traces }),
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
      // A backend must return a result for each item, so this one violates the port.
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

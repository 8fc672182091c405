/** What the contract tests about collectors have in common: conversations, whose items are letters. */
import assert from 'node:assert/strict'
import type { Delivery, QueueSettings, SettleResult } from '../../backends/backend.ts'
import type {
  AddedItem,
  AddItems,
  BatchResult,
  CollectedKey,
  CollectorStore,
  StagedItem,
} from '../../backends/collector-store.ts'
import { day, only, type Scene, second } from './scene.ts'

export const collector = 'app-dev-conversations'
export const triggers = 'triggers'
export const merged = 'merged'
export const windowMs: number = 10 * second
export const leaseMs: number = 30 * second

export function collectorsOf({ backend }: Scene): CollectorStore {
  assert.ok(backend.collectors !== null)
  return backend.collectors
}

/** The queue of the triggers with its dead-letter queue, and the queue for what is merged. */
export async function openCollector(
  scene: Scene,
  settings: Partial<QueueSettings> = {},
): Promise<void> {
  await scene.queueWithDeadLetters(triggers, 3, { visibilityMs: leaseMs, ...settings })
  await scene.queue(merged)
}

export interface Collecting extends Partial<Omit<AddItems, 'items'>> {
  /** By id, where it is not that of arrival. */
  readonly orders?: Readonly<Record<string, number>>
}

export function itemsRequest(key: string, ids: readonly string[], more: Collecting = {}): AddItems {
  const { orders = {}, ...options } = more
  return {
    collector,
    key,
    items: ids.map((id) => ({ id, body: JSON.stringify(id), order: orders[id] ?? 0 })),
    trigger: { queue: triggers, message: { body: triggerBody(key) } },
    windowMs,
    maxItems: 100,
    maxBytes: 1_000_000,
    rememberMs: day,
    ...options,
  }
}

export function triggerBody(key: string): string {
  return JSON.stringify({ conversation_id: key })
}

/** Stages items that must all be new. */
export async function collect(
  scene: Scene,
  key: string,
  ids: readonly string[],
  more: Collecting = {},
): Promise<void> {
  const added = await collectorsOf(scene).add(itemsRequest(key, ids, more))
  assert.deepEqual(
    added,
    ids.map((id): AddedItem => ({ id, status: 'staged' })),
  )
}

/** Receives the one trigger that there must be, and knows its key by its body. */
export async function receiveTrigger(scene: Scene): Promise<Delivery & { readonly key: string }> {
  const delivery = await scene.receiveOne(triggers)
  return { ...delivery, key: JSON.parse(delivery.body).conversation_id }
}

export function beginBatch(
  scene: Scene,
  key: string,
  receipt: string,
  limits: { readonly maxItems?: number; readonly maxBytes?: number } = {},
): Promise<BatchResult> {
  const { maxItems = 100, maxBytes = 1_000_000 } = limits
  return collectorsOf(scene).begin({ collector, key, queue: triggers, receipt, maxItems, maxBytes })
}

/** Begins a batch that must be there. */
export async function begunBatch(
  scene: Scene,
  key: string,
  receipt: string,
  limits: { readonly maxItems?: number; readonly maxBytes?: number } = {},
): Promise<readonly StagedItem[]> {
  const batch = await beginBatch(scene, key, receipt, limits)
  assert.ok(batch.status === 'begun', `the batch is ${batch.status}`)
  return batch.items
}

export function idsOf(items: readonly { readonly id: string }[]): string {
  return items.map(({ id }) => id).join('')
}

/** Acknowledges the trigger with the merged message and the end of its batch. */
export async function endBatch(
  scene: Scene,
  key: string,
  receipt: string,
  items: readonly StagedItem[],
): Promise<SettleResult> {
  const settlement = {
    receipt,
    outcome: { kind: 'acknowledge' },
    emits: [{ queue: merged, message: { body: `${key}:${idsOf(items)}` } }],
    batch: { collector, key },
  } as const
  return only(await scene.backend.settle({ queue: triggers, settlements: [settlement] }))
}

/** Receives a trigger and merges what is staged; returns what was merged. */
export async function mergeNext(
  scene: Scene,
  limits: { readonly maxItems?: number; readonly maxBytes?: number } = {},
): Promise<string> {
  const { key, receipt } = await receiveTrigger(scene)
  const items = await begunBatch(scene, key, receipt, limits)
  const { status } = await endBatch(scene, key, receipt, items)
  assert.equal(status, 'settled')
  return idsOf(items)
}

export function readKey(scene: Scene, key: string): Promise<CollectedKey | undefined> {
  return collectorsOf(scene).read({ collector, key, limit: 100 })
}

/** Nothing is staged, nothing runs, and no trigger is left. */
export async function assertNothingLeft(scene: Scene, key: string): Promise<void> {
  assert.equal(await readKey(scene, key), undefined)
  assert.deepEqual(await scene.counts(triggers), { ready: 0, leased: 0, delayed: 0 })
}

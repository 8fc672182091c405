/** Keys of collectors as all surfaces show them. Field names are API. */
import type { CollectedKey, KeySummary, StagedItem } from '../backends/collector-store.ts'
import { isoTime } from '../core/iso-time.ts'

export interface KeyView
  extends Pick<
    KeySummary,
    'collector' | 'key' | 'staged' | 'bytes' | 'trigger' | 'running' | 'kept'
  > {
  /** Arrival of the oldest waiting item. */
  readonly since: string | null
  /** When the next trigger is due; null if none is scheduled. */
  readonly due_at: string | null
}

export interface ItemView extends Pick<StagedItem, 'id' | 'order' | 'body'> {
  readonly staged_at: string
}

export interface CollectedKeyView extends KeyView {
  readonly items: readonly ItemView[]
  /** Items of batches whose triggers were dead-lettered. */
  readonly kept_items: readonly ItemView[]
}

export function keyView(shown: KeySummary): KeyView {
  const { collector, key, staged, bytes, since, trigger, dueAt, running, kept } = shown
  const due_at = isoTime(dueAt)
  return { collector, key, staged, bytes, since: isoTime(since), trigger, due_at, running, kept }
}

export function collectedKeyView(shown: CollectedKey): CollectedKeyView {
  const { items, keptItems } = shown
  return { ...keyView(shown), items: items.map(itemView), kept_items: keptItems.map(itemView) }
}

function itemView({ id, order, body, stagedAt }: StagedItem): ItemView {
  return { id, order, staged_at: isoTime(stagedAt), body }
}

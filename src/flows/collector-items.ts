/** Turns an item into what is staged: checks it against its schema and reads its key, id and order. */
import type { AddItems, NewItem } from '../backends/collector-store.ts'
import { validateMessage } from '../contracts/validate-message.ts'
import { checkText, type Violations } from '../core/checks.ts'
import { type Duration, durationMs } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import { encodeMessage } from '../producer/encode-message.ts'
import type { NamedCollector } from './collector-registry.ts'

export interface AddOptions {
  /** Replaces the collector's window if this item opens one. At most 15m. */
  readonly window?: Duration
}

const addOptions: OptionNames<AddOptions> = { window: true }

export async function itemRequest(
  collector: NamedCollector,
  item: unknown,
  options: AddOptions = {},
): Promise<AddItems> {
  refuseUnknownOptions(options, addOptions)
  const windowMs = windowOf(collector, options)
  const body = encodeMessage(item, 'item')
  // Check what JSON preserves of the item, as for messages: only that is merged later.
  const checked = await validateMessage(collector.declared.options.schema, JSON.parse(body), 'item')
  const { key, id, order } = placeOf(collector, checked)
  const { name, triggers, maxWaitMs, maxItems, maxBytes, rememberMs } = collector
  const { trigger = (about: string) => ({ key: about }) } = collector.declared.options
  const message = { body: encodeMessage(trigger(key), 'trigger') }
  return {
    collector: name,
    key,
    items: [{ id, body, order }],
    trigger: { queue: triggers.name, message },
    windowMs,
    ...(maxWaitMs !== undefined && { maxWaitMs }),
    maxItems,
    maxBytes,
    rememberMs,
  }
}

function windowOf({ windowMs }: NamedCollector, { window }: AddOptions): number {
  return window === undefined ? windowMs : durationMs(window, 'window', limits.delayMs)
}

type ItemPlace = Pick<NewItem, 'id' | 'order'> & { readonly key: string }

/** What the collector's functions return for an item. They may be plain JavaScript. */
function placeOf({ declared: { options } }: NamedCollector, item: unknown): ItemPlace {
  const key: unknown = options.key(item)
  const id: unknown = options.id(item)
  const order = orderOf(options.order?.(item) ?? 0)
  const violations: Violations = []
  checkText(violations, 'key', key, limits.collectorKeyLength)
  checkText(violations, 'id', id, limits.itemIdLength)
  if (!Number.isFinite(order)) {
    const allowed = 'a number, a Date, or a time such as 2026-01-31T12:00:00.000Z'
    violations.push({ field: 'order', given: 'something else', allowed })
  }
  if (violations.length > 0)
    throw MillraceError.invalid(violations.map(unquoted), 'invalid_message')
  return { key: String(key), id: String(id), order }
}

/** Keys and ids come from the item, so the error does not quote them. */
function unquoted({ field, given, allowed }: Violations[number]): Violations[number] {
  return { field, given: given.startsWith("'") ? 'another text' : given, allowed }
}

function orderOf(order: unknown): number {
  if (typeof order === 'number') return order
  if (order instanceof Date) return order.getTime()
  return typeof order === 'string' ? Date.parse(order) : Number.NaN
}

/** The key in a trigger; undefined if it has none. */
export function keyOfTrigger({ declared }: NamedCollector, trigger: unknown): string | undefined {
  const { keyOf = ownKeyOf } = declared.options
  const key = readKey(keyOf, trigger)
  const violations: Violations = []
  checkText(violations, 'key', key, limits.collectorKeyLength)
  return violations.length === 0 ? String(key) : undefined
}

/** A trigger that cannot be read has no key. Reading it again would not help. */
function readKey(keyOf: (trigger: unknown) => unknown, trigger: unknown): unknown {
  try {
    return keyOf(trigger)
  } catch {
    return undefined
  }
}

function ownKeyOf(trigger: unknown): string {
  const { key }: { readonly key?: unknown } = Object(trigger)
  return typeof key === 'string' ? key : ''
}

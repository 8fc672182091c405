/**
 * The values in a message by which the ceilings of its queue count: those of the keys that the queue's
 * `perKey` ceilings name. They are stored as JSON beside the message, by key.
 */
import type { Violations } from './checks.ts'
import { limits } from './limits.ts'
import type { KeyCeiling } from './queue-settings.ts'

export type LimitValues = Readonly<Record<string, string>>

/**
 * The values as JSON; null if the message has none. A body that is not JSON has none, and neither has a key
 * whose value cannot count.
 *
 * @param refused gets the values that cannot count
 */
export function limitValuesIn(
  body: string,
  ceilings: readonly KeyCeiling[],
  refused?: Violations,
): string | null {
  if (ceilings.length === 0) return null
  const message = parsed(body)
  if (message === undefined) return null
  const values: [string, string][] = []
  for (const { key } of ceilings) {
    const value = valueAt(message, key)
    if (value === undefined || value === null) continue
    const text = textOf(value)
    if (text !== undefined) values.push([key, text])
    else refused?.push(refusal(key, value))
  }
  return values.length === 0 ? null : JSON.stringify(Object.fromEntries(values))
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

function valueAt(message: unknown, path: string): unknown {
  let value = message
  for (const name of path.split('.')) {
    // Not every own property is a field: an array has its length.
    const hasFields = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (!hasFields || !Object.hasOwn(value as object, name)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[name]
  }
  return value
}

/** Undefined if it cannot count. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const isFit = typeof value === 'string' && value.length <= limits.limitValueLength.max
  return isFit ? value : undefined
}

/** Names only the kind of the value, because the value is part of a message. */
function refusal(key: string, value: unknown): Violations[number] {
  const { max } = limits.limitValueLength
  return {
    field: `body.${key}`,
    given: typeof value === 'string' ? `${value.length} characters` : 'another value',
    allowed: `text of at most ${max} characters, a number, true or false: the queue has a limit by it`,
  }
}

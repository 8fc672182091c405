/** The values in a payload that a contract marks as secret or personal. */
import type { Delivery } from '../backends/backend.ts'
import type { ReadMessage } from '../receiving/read-message.ts'
import type { Work } from './source.ts'

/** Shorter values occur in too many places to be removed from a text. */
const lengthMin = 3

/** Paths are names joined by dots. A path covers every element of an array. */
export function hiddenValues(payload: unknown, paths: readonly string[]): readonly string[] {
  const found: string[] = []
  for (const path of paths) collect(payload, path.split('.'), found)
  return found
}

/** The same in a body, which may not be JSON. */
export function hiddenInBody(body: string, paths: readonly string[]): readonly string[] {
  if (paths.length === 0) return []
  try {
    return hiddenValues(JSON.parse(body), paths)
  } catch {
    return []
  }
}

function collect(value: unknown, path: readonly string[], into: string[]): void {
  if (Array.isArray(value)) {
    for (const element of value) collect(element, path, into)
    return
  }
  const [name, ...rest] = path
  if (name === undefined) {
    if (typeof value === 'object' && value !== null) {
      for (const inner of Object.values(value)) collect(inner, [], into)
    } else if (String(value).length >= lengthMin) {
      into.push(...formsOf(String(value)))
    }
    return
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return
  collect((value as Readonly<Record<string, unknown>>)[name], rest, into)
}

/** A text that quotes JSON contains line breaks and quotation marks in escaped form. */
function formsOf(value: string): readonly string[] {
  const escaped = JSON.stringify(value).slice(1, -1)
  return escaped === value ? [value] : [value, escaped]
}

/** The hidden values of the payload as it was sent, and of the output of its schema. */
export function valuesToHide(
  { hidden }: Work,
  { body }: Delivery,
  read?: ReadMessage,
): readonly string[] {
  if (hidden.length === 0) return []
  const message = read?.status === 'read' ? read.message : undefined
  return [...hiddenInBody(body, hidden), ...hiddenValues(message, hidden)]
}

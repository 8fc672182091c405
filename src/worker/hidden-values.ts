/** The values in a payload that a contract marks as secret or personal. */
import type { Delivery } from '../backends/backend.ts'
import type { ReadMessage } from '../receiving/read-message.ts'
import type { Work } from './source.ts'
import { valueForms } from './value-forms.ts'

/** Shorter values occur in too many places to be removed from a text. */
const lengthMin = 3

/** The hidden values of a payload as it was sent, and of the output of its schema, in all their forms. */
export function hiddenInBody(
  body: string,
  message: unknown,
  paths: readonly string[],
): readonly string[] {
  if (paths.length === 0) return []
  return valueForms([...hiddenValues(parsed(body), paths), ...hiddenValues(message, paths)])
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** Paths are names joined by dots. A path covers every element of an array. */
export function hiddenValues(payload: unknown, paths: readonly string[]): readonly string[] {
  const found: string[] = []
  for (const path of paths) collect(payload, path.split('.'), found)
  return found
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
      into.push(String(value))
    }
    return
  }
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return
  collect((value as Readonly<Record<string, unknown>>)[name], rest, into)
}

/** The same for a delivery. */
export function valuesToHide(
  { hidden }: Work,
  { body }: Delivery,
  read?: ReadMessage,
): readonly string[] {
  return hiddenInBody(body, read?.status === 'read' ? read.message : undefined, hidden)
}

/** The values in a payload that a contract marks as secret or personal. */

/** Shorter values occur in too many places to be removed from a text. */
const lengthMin = 3

/** Paths are names joined by dots. A path covers every element of an array. */
export function hiddenValues(payload: unknown, paths: readonly string[]): readonly string[] {
  const found: string[] = []
  for (const path of paths) collect(payload, path.split('.'), found)
  return found
}

/** The hidden values of a message: in its body, and in the output of its schema. */
export function hiddenIn(
  body: string,
  message: unknown,
  paths: readonly string[],
): readonly string[] {
  if (paths.length === 0) return []
  return [...hiddenValues(parsed(body), paths), ...hiddenValues(message, paths)]
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
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

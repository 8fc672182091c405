/**
 * Replaces given values in a text. The text is read once, however many values there are: a batch has those of
 * all its messages, in several forms each.
 */
export const hiddenMark = '[hidden]'

/** Values by how they begin, so that few have to be compared. */
interface Index {
  readonly width: number
  readonly values: ReadonlyMap<string, readonly string[]>
}

const prefixLengthMax = 8

/** One list of values is used for all texts of an attempt. */
const indexes = new WeakMap<readonly string[], Index>()

export interface HideOptions {
  /** Only this much of the text is read and returned. A value that begins within it is hidden whole. */
  readonly lengthMax?: number | undefined
  /** What is shown instead of a value. */
  readonly mark?: string
}

/** Values that overlap are hidden together. */
export function hideValues(
  text: string,
  values: readonly string[],
  { lengthMax = text.length, mark = hiddenMark }: HideOptions = {},
): string {
  const end = Math.min(text.length, lengthMax)
  if (values.length === 0) return text.slice(0, end)
  const index = indexOf(values)
  let shown = ''
  let hiddenTo = 0
  for (let at = 0; at < end; at += 1) {
    const length = matchAt(text, at, index)
    if (length === 0) continue
    if (hiddenTo <= at) shown += text.slice(hiddenTo, at) + mark
    hiddenTo = Math.max(hiddenTo, at + length)
  }
  return shown + text.slice(hiddenTo, Math.max(hiddenTo, end))
}

/** The length of the longest value that begins here; 0 if none does. */
function matchAt(text: string, at: number, { width, values }: Index): number {
  const candidates = values.get(text.slice(at, at + width))
  let longest = 0
  for (const value of candidates ?? []) {
    if (value.length > longest && text.startsWith(value, at)) longest = value.length
  }
  return longest
}

function indexOf(values: readonly string[]): Index {
  const known = indexes.get(values)
  if (known !== undefined) return known
  let width = prefixLengthMax
  for (const { length } of values) if (length > 0) width = Math.min(width, length)
  const byPrefix = new Map<string, string[]>()
  for (const value of new Set(values)) {
    if (value === '') continue
    const prefix = value.slice(0, width)
    const others = byPrefix.get(prefix)
    if (others === undefined) byPrefix.set(prefix, [value])
    else others.push(value)
  }
  const index = { width, values: byPrefix }
  indexes.set(values, index)
  return index
}

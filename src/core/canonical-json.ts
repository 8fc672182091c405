/**
 * JSON text that is the same for all texts that mean the same: keys in order, numbers and strings in
 * one form, no spaces. What is not JSON, or is nested too deeply to tell, is returned unchanged.
 */
export function canonicalJson(text: string): string {
  try {
    return canonical(JSON.parse(text))
  } catch {
    return text
  }
}

/** Written, not rebuilt: in an object a key such as `__proto__` would not be one any more. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))
  return `{${entries.map(([key, entry]) => `${JSON.stringify(key)}:${canonical(entry)}`).join()}}`
}

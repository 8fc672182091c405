/** Hides what a contract calls secret or personal, wherever its path leads, through arrays as well. */
export const masked = '[hidden]'

/** @param paths such as `card.number`; each step may also pass through the entries of an array */
export function maskPayload(payload: unknown, paths: readonly string[]): unknown {
  return paths.reduce((value, path) => maskAt(value, path.split('.')), payload)
}

function maskAt(value: unknown, steps: readonly string[]): unknown {
  const [step, ...others] = steps
  if (step === undefined) return masked
  if (Array.isArray(value)) return value.map((entry) => maskAt(entry, steps))
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [
      key,
      key === step ? maskAt(entry, others) : entry,
    ]),
  )
}

/** A message as JSON. In a text it is unknown what is secret: JSON that was cut off, or JSON in a string. */
export function maskMessage(message: unknown, paths: readonly string[]): unknown {
  return typeof message === 'string' && paths.length > 0 ? masked : maskPayload(message, paths)
}

/** The same for a body as it was sent. */
export function maskBody(body: string, paths: readonly string[]): string {
  if (paths.length === 0) return body
  const message = jsonOf(body)
  const shown = maskMessage(message, paths)
  if (shown === message) return body
  return typeof shown === 'string' ? shown : JSON.stringify(shown)
}

/** The body itself when it is not JSON. */
export function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}

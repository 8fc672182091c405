/** Masks the fields that a contract marks as secret or personal, also inside arrays. */
export const masked = '[hidden]'

/** @param paths such as `card.number`; an array on the way applies to all its entries */
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

/** Masks a message. A string is masked whole: it may be truncated JSON, or JSON in a string. */
export function maskMessage(message: unknown, paths: readonly string[]): unknown {
  return typeof message === 'string' && paths.length > 0 ? masked : maskPayload(message, paths)
}

/** Masks a body as sent. */
export function maskBody(body: string, paths: readonly string[]): string {
  if (paths.length === 0) return body
  const message = jsonOf(body)
  const shown = maskMessage(message, paths)
  if (shown === message) return body
  return typeof shown === 'string' ? shown : JSON.stringify(shown)
}

/** Returns the body itself if it is not JSON. */
export function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}

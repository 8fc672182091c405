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

/** Kill switches that the environment has on: `LLM_PAUSED=true` holds what obeys `LLM_PAUSED`. */
import type { PlannedQueue } from '../contracts/resolve-topology.ts'
import { describeGiven, type Violations } from '../core/checks.ts'
import { MillraceError } from '../core/millrace-error.ts'

const on: readonly string[] = ['true', '1', 'on', 'yes']
const off: readonly string[] = ['', 'false', '0', 'off', 'no']

/** A value that is neither on nor off is refused: guessing wrong would run what was to be stopped. */
export function heldNamesIn(
  environment: Readonly<Record<string, string | undefined>>,
  planned: readonly PlannedQueue[],
): readonly string[] {
  const names = new Set(
    planned.flatMap(({ settings: { obeys } }) => [
      ...obeys.queue,
      ...Object.values(obeys.types).flat(),
    ]),
  )
  const violations: Violations = []
  const held = [...names].filter((name) => {
    const value = (environment[name] ?? '').trim().toLowerCase()
    if (!on.includes(value) && !off.includes(value)) {
      const allowed = `${on.join(', ')}, or ${off.filter(Boolean).join(', ')}`
      violations.push({ field: name, given: describeGiven(value), allowed })
    }
    return on.includes(value)
  })
  if (violations.length > 0) throw MillraceError.invalid(violations)
  return held
}

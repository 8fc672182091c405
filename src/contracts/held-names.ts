/** Kill switches of the environment: `LLM_PAUSED=true` holds work that obeys `LLM_PAUSED`. */
import { describeGiven, type Violations } from '../core/checks.ts'
import { MillraceError } from '../core/millrace-error.ts'
import type { QueueSettings } from '../core/queue-settings.ts'

const on: readonly string[] = ['true', '1', 'on', 'yes']
const off: readonly string[] = ['', 'false', '0', 'off', 'no']

/** An existing or declared queue. Without `obeys`, it obeys no name. */
export interface ObeyingQueue {
  readonly settings: Partial<Pick<QueueSettings, 'obeys'>>
}

/** Throws if a value is neither on nor off: a wrong guess would run work that should be stopped. */
export function heldNamesIn(
  environment: Readonly<Record<string, string | undefined>>,
  queues: readonly ObeyingQueue[],
): readonly string[] {
  const names = new Set(
    queues.flatMap(({ settings: { obeys } }) =>
      obeys === undefined ? [] : [...obeys.queue, ...Object.values(obeys.types).flat()],
    ),
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

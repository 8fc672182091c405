/** After how long the janitor of an app calls something stuck. */
import { describeGiven, type Violations } from '../core/checks.ts'
import type { Duration } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import { checkDuration, checkEach, checkKeys, isRecord } from './setting-checks.ts'

export interface JanitorOptions {
  /** A job that could run, and that nobody has taken for so long, is stuck. Default 1h. */
  readonly pendingFor?: Duration
  /** A job that one worker has held for so long is stuck, however often it renewed. Default 6h. */
  readonly processingFor?: Duration
}

export const janitorDefaults: Required<JanitorOptions> = { pendingFor: '1h', processingFor: '6h' }

export function checkJanitor(into: Violations, janitor: unknown): void {
  if (!isRecord(janitor)) {
    const allowed = "an object such as { pendingFor: '1h' }"
    into.push({ field: 'janitor', given: describeGiven(janitor), allowed })
    return
  }
  checkKeys(into, 'janitor', janitor, Object.keys(janitorDefaults))
  checkEach(into, 'janitor', janitor, {
    pendingFor: (to, at, value) => checkDuration(to, at, value, limits.janitorMs),
    processingFor: (to, at, value) => checkDuration(to, at, value, limits.janitorMs),
  })
}

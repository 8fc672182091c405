/** When the janitor of an app reports work as stuck. */
import { describeGiven, type Violations } from '../core/checks.ts'
import type { Duration } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import { checkDuration, checkEach, checkKeys, isRecord } from './setting-checks.ts'

export interface JanitorOptions {
  /** How long a job may be ready to run before it counts as stuck, if no worker claims it. Default 1h. */
  readonly pendingFor?: Duration
  /**
   * How long one worker may hold a job before it counts as stuck, however often the lease is renewed. Default
   * 6h.
   */
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

/** The limits of backoff policies, which hold on every backend. */
import type { BackoffPolicy } from './backoff.ts'
import { checkNumber, checkRange, type Violations } from './checks.ts'
import { limits } from './limits.ts'

export function checkBackoffPolicy(into: Violations, field: string, policy: BackoffPolicy): void {
  const { fromMs, factor, maxMs, jitter } = policy
  checkRange(into, `${field}.fromMs`, fromMs, limits.backoffMs)
  checkNumber(into, `${field}.factor`, factor, { min: 1, max: 10 })
  checkRange(into, `${field}.maxMs`, maxMs, limits.backoffMs)
  if (maxMs < fromMs) {
    into.push({ field: `${field}.maxMs`, given: `${maxMs}`, allowed: 'at least fromMs' })
  }
  checkNumber(into, `${field}.jitter`, jitter, { min: 0, max: 1 })
}

import { checkNumber, checkRange, type Violations } from './checks.ts'
import { limits } from './limits.ts'

/**
 * How long a job waits before it is tried again: exponentially longer after each attempt, with a
 * random part, so that jobs that failed together are not retried together.
 */
export interface BackoffPolicy {
  /** The wait after the first attempt. */
  readonly fromMs: number
  /** By what each wait is longer than the one before. */
  readonly factor: number
  readonly maxMs: number
  /** The part of a wait that is left to chance: 0 none, 1 all of it. */
  readonly jitter: number
}

export const defaultBackoff: BackoffPolicy = {
  fromMs: 5_000,
  factor: 2,
  maxMs: 3_600_000,
  jitter: 0.2,
}

/** The wait after an attempt, counted from 1. `chance` is in [0, 1). */
export function backoffMs(
  { fromMs, factor, maxMs, jitter }: BackoffPolicy,
  attempt: number,
  chance: number,
): number {
  const full = Math.min(maxMs, fromMs * factor ** (attempt - 1))
  return Math.round(full * (1 - jitter + jitter * chance))
}

/** The limits of backoff policies, which hold on every backend. */
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

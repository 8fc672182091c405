/**
 * Ceilings that hold for each value of something: for each job type, each tenant, each value of a key. A
 * claim counts what runs of each value, and what it takes itself.
 */

import type { Ceilings } from '../../core/queue-settings.ts'
import type { Kind } from './buckets.ts'

/** What a running message counts for. */
export type RunningKind = Pick<Kind, 'type' | 'tenant' | 'keys'>

const none = Number.POSITIVE_INFINITY

export class RunningByValue {
  readonly #valueIn: (kind: RunningKind) => string | null
  readonly #maxOf: (value: string) => number
  readonly #counts = new Map<string, number>()

  constructor(valueIn: (kind: RunningKind) => string | null, maxOf: (value: string) => number) {
    this.#valueIn = valueIn
    this.#maxOf = maxOf
  }

  add(kind: RunningKind, count: number): void {
    const value = this.#valueIn(kind)
    if (value !== null) this.#counts.set(value, (this.#counts.get(value) ?? 0) + count)
  }

  isFull(kind: RunningKind): boolean {
    const value = this.#valueIn(kind)
    return value !== null && (this.#counts.get(value) ?? 0) >= this.#maxOf(value)
  }

  /** Whether some of the same value run under a ceiling. */
  isUsed(kind: RunningKind): boolean {
    const value = this.#valueIn(kind)
    return value !== null && (this.#counts.get(value) ?? 0) > 0 && this.#maxOf(value) < none
  }
}

/** Those of a queue. */
export function runningByValue(ceilings: Ceilings): readonly RunningByValue[] {
  const { runningPerTenant, runningPerType, perKey } = ceilings
  const counts: RunningByValue[] = []
  if (Object.keys(runningPerType).length > 0) {
    const maxOf = (type: string): number =>
      Object.hasOwn(runningPerType, type) ? (runningPerType[type] ?? none) : none
    counts.push(new RunningByValue(({ type }) => type, maxOf))
  }
  if (runningPerTenant !== null) {
    counts.push(
      new RunningByValue(
        ({ tenant }) => tenant,
        () => runningPerTenant,
      ),
    )
  }
  for (const { key, running } of perKey) {
    if (running !== null)
      counts.push(
        new RunningByValue(
          (kind) => valueAt(kind, key),
          () => running,
        ),
      )
  }
  return counts
}

export function valueAt({ keys }: RunningKind, key: string): string | null {
  return keys !== null && Object.hasOwn(keys, key) ? (keys[key] ?? null) : null
}

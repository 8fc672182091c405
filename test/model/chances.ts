/** What a random run decides by chance. */
import type { Randomness } from '../../src/core/ports.ts'

/** Something to do, and how often in comparison with the rest. */
export type Choice = readonly [weight: number, run: () => Promise<void>]

export class Chances {
  readonly #randomness: Randomness

  constructor(randomness: Randomness) {
    this.#randomness = randomness
  }

  /** Does one of these. */
  async take(choices: readonly Choice[]): Promise<void> {
    const total = choices.reduce((sum, [weight]) => sum + weight, 0)
    let point = this.#randomness.next() * total
    for (const [weight, run] of choices) {
      point -= weight
      if (point < 0) return run()
    }
  }

  /** True in such a share of all cases. */
  is(share: number): boolean {
    return this.#randomness.next() < share
  }

  /** Below the limit. */
  number(limit: number): number {
    return Math.floor(this.#randomness.next() * limit)
  }

  pick<const T>(items: readonly [T, ...T[]]): T
  pick<T>(items: readonly T[]): T | undefined
  pick<T>(items: readonly T[]): T | undefined {
    return items[this.number(items.length)]
  }
}

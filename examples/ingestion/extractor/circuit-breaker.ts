/**
 * Keeps calls away from a provider that is in trouble. After a few failures in a row it opens; when its time
 * is over it lets one call through, and that one decides: closed again, or open for twice as long. An
 * account that is blocked opens it at once.
 */
import type { ProviderTrouble } from './provider-trouble.ts'

export interface BreakerSettings {
  readonly now: () => number
  /** Failures in a row that open it. */
  readonly failuresMax?: number
  readonly openMs?: number
  readonly openMsMax?: number
  /** How long it stays open for an account that is blocked. */
  readonly blockedMs?: number
}

export type Admission =
  | { readonly admitted: true }
  /** Ask again after this long. */
  | { readonly admitted: false; readonly waitMs: number }

/** While another call finds out. */
const probingMs = 1_000

export class CircuitBreaker {
  readonly #settings: Required<BreakerSettings>
  #failures = 0
  #openedTimes = 0
  #openUntil: number | undefined
  #isProbing = false

  constructor(settings: BreakerSettings) {
    const defaults = {
      failuresMax: 3,
      openMs: 30_000,
      openMsMax: 600_000,
      blockedMs: 600_000,
    }
    this.#settings = { ...defaults, ...settings }
  }

  get state(): 'closed' | 'open' | 'half_open' {
    if (this.#openUntil === undefined) return 'closed'
    return this.#settings.now() < this.#openUntil ? 'open' : 'half_open'
  }

  /** Whoever is admitted must say how it went: `succeeded`, `failed` or `undecided`. */
  admit(): Admission {
    if (this.#openUntil === undefined) return { admitted: true }
    const waitMs = this.#openUntil - this.#settings.now()
    if (waitMs > 0) return { admitted: false, waitMs }
    if (this.#isProbing) return { admitted: false, waitMs: probingMs }
    this.#isProbing = true
    return { admitted: true }
  }

  /** The provider has answered. */
  succeeded(): void {
    this.#failures = 0
    this.#openedTimes = 0
    this.#openUntil = undefined
    this.#isProbing = false
  }

  /** Answers for how long it is open because of this; 0 when it is still closed. */
  failed(trouble: ProviderTrouble): number {
    const wasProbe = this.#isProbing
    this.#isProbing = false
    this.#failures += 1
    const { now, failuresMax } = this.#settings
    // Calls that were on their way when it opened say nothing new.
    if (this.state === 'open' && trouble.kind !== 'blocked') return this.#leftMs()
    if (trouble.kind !== 'blocked' && !wasProbe && this.#failures < failuresMax) return 0
    this.#openUntil = now() + this.#openMs(trouble)
    this.#openedTimes += 1
    return this.#leftMs()
  }

  /** The call ended for reasons that say nothing about the provider. */
  undecided(): void {
    this.#isProbing = false
  }

  #openMs({ kind, retryAfterMs }: ProviderTrouble): number {
    const { openMs, openMsMax, blockedMs } = this.#settings
    if (kind === 'blocked') return blockedMs
    const doubled = Math.min(openMs * 2 ** this.#openedTimes, openMsMax)
    return Math.min(Math.max(doubled, retryAfterMs ?? 0), openMsMax)
  }

  #leftMs(): number {
    return Math.max(0, (this.#openUntil ?? 0) - this.#settings.now())
  }
}

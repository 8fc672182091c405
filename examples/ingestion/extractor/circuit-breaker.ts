/**
 * Stops calls to a failing provider. It opens after a few failures in a row. When its time is over, it lets one
 * call through as a probe: success closes it, and failure opens it for twice as long. A blocked account opens
 * it at once.
 */
import type { ProviderTrouble } from './provider-trouble.ts'

export interface BreakerSettings {
  readonly now: () => number
  /** The number of failures in a row that opens it. */
  readonly failuresMax?: number
  readonly openMs?: number
  readonly openMsMax?: number
  /** How long it stays open if the account is blocked. */
  readonly blockedMs?: number
}

export type Admission =
  | { readonly admitted: true }
  /** Retry after this time. */
  | { readonly admitted: false; readonly waitMs: number }

/** Another call is the probe. */
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

  /** After each admitted call, report the result: `succeeded`, `failed` or `undecided`. */
  admit(): Admission {
    if (this.#openUntil === undefined) return { admitted: true }
    const waitMs = this.#openUntil - this.#settings.now()
    if (waitMs > 0) return { admitted: false, waitMs }
    if (this.#isProbing) return { admitted: false, waitMs: probingMs }
    this.#isProbing = true
    return { admitted: true }
  }

  /** The provider responded. */
  succeeded(): void {
    this.#failures = 0
    this.#openedTimes = 0
    this.#openUntil = undefined
    this.#isProbing = false
  }

  /** Returns how long it is now open; 0 if it is still closed. */
  failed(trouble: ProviderTrouble): number {
    const wasProbe = this.#isProbing
    this.#isProbing = false
    this.#failures += 1
    const { now, failuresMax } = this.#settings
    // Calls that started before it opened tell nothing new.
    if (this.state === 'open' && trouble.kind !== 'blocked') return this.#leftMs()
    if (trouble.kind !== 'blocked' && !wasProbe && this.#failures < failuresMax) return 0
    this.#openUntil = now() + this.#openMs(trouble)
    this.#openedTimes += 1
    return this.#leftMs()
  }

  /** The call ended for a reason that is unrelated to the provider. */
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

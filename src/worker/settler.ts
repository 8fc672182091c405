/**
 * Settles attempts that have ended, in groups: one call per queue for all that end in the same turn of the
 * event loop, or within a few milliseconds while further handlers are about to start. While the store fails,
 * a settlement is retried for as long as its lease may be alive.
 */
import type { Backend, Settlement, SettleResult } from '../backends/backend.ts'
import { limits } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { pause } from '../core/pause.ts'
import type { Ports } from '../core/ports.ts'
import { slicesOf } from '../core/slices-of.ts'

/** The first pause before a settlement is retried. It grows with each failure. */
const retryMs = 50
const retryMsMax = 1_000

/** A settlement that takes longer than this is slow. */
const slowMs = 250

/** How long a settlement waits for others while further handlers are about to start. */
const groupMs = 2

interface Waiting {
  readonly settlement: Settlement
  readonly resolve: (result: SettleResult) => void
  readonly reject: (error: unknown) => void
}

export interface SettlerSetup {
  readonly backend: Pick<Backend, 'settle'>
  readonly ports: Pick<Ports, 'clock' | 'timers'>
  /** Called when a settlement failed and will be retried. */
  readonly onRetry: (queue: string, error: unknown, retryInMs: number) => void
  /** Whether further settlements will follow within milliseconds. Default: they do not. */
  readonly expectsMore?: () => boolean
  /** Called when the store has settled something, if it was behind. */
  readonly onProgress?: () => void
}

export class Settler {
  readonly #setup: SettlerSetup
  #waiting = new Map<string, Waiting[]>()
  /** When the calls under way began, the oldest first. */
  readonly #calls = new Map<readonly Waiting[], number>()
  #inCalls = 0
  #wasBehind = false
  #isScheduled = false
  #cancelGathering: (() => void) | undefined

  constructor(setup: SettlerSetup) {
    this.#setup = setup
  }

  /**
   * Whether the store is slow, and still has more than this number to settle. Then nothing more should be
   * claimed: a slot is free before its delivery is settled, so handlers that are faster than the store would
   * gather deliveries until their leases end.
   */
  isBehind(count: number): boolean {
    if (this.#inCalls <= count) return false
    const [oldestMs = 0] = this.#calls.values()
    this.#wasBehind = this.#setup.ports.clock.monotonic() - oldestMs > slowMs
    return this.#wasBehind
  }

  /** `worthwhile` is called after a failed write. It returns whether the lease may still be alive. */
  settle(queue: string, settlement: Settlement, worthwhile: () => boolean): Promise<SettleResult> {
    return this.#submit(queue, settlement).catch((error: unknown) =>
      this.#retry(queue, settlement, worthwhile, error),
    )
  }

  /**
   * Settles deliveries of one queue in one call and one commit. `worthwhile` is called with the index of a
   * settlement that failed.
   */
  settleTogether(
    queue: string,
    settlements: readonly Settlement[],
    worthwhile: (index: number) => boolean,
  ): readonly Promise<SettleResult>[] {
    const entries: Waiting[] = []
    const results = settlements.map((settlement, index) =>
      new Promise<SettleResult>((resolve, reject) => {
        entries.push({ settlement, resolve, reject })
      }).catch((error: unknown) => this.#retry(queue, settlement, () => worthwhile(index), error)),
    )
    void this.#call(queue, entries)
    return results
  }

  async #retry(
    queue: string,
    settlement: Settlement,
    worthwhile: () => boolean,
    failure: unknown,
  ): Promise<SettleResult> {
    let error = failure
    for (let delayMs = retryMs; ; delayMs = Math.min(retryMsMax, delayMs * 2)) {
      const mayPass = error instanceof MillraceError && error.retryable
      if (!mayPass || !worthwhile()) throw error
      this.#setup.onRetry(queue, error, delayMs)
      await pause(this.#setup.ports.timers, delayMs)
      try {
        return await this.#submit(queue, settlement)
      } catch (again) {
        error = again
      }
    }
  }

  #submit(queue: string, settlement: Settlement): Promise<SettleResult> {
    return new Promise((resolve, reject) => {
      let waiting = this.#waiting.get(queue)
      if (waiting === undefined) {
        waiting = []
        this.#waiting.set(queue, waiting)
      }
      waiting.push({ settlement, resolve, reject })
      if (!this.#setup.expectsMore?.()) this.flushSoon()
      else this.#cancelGathering ??= this.#setup.ports.timers.after(groupMs, () => this.#flush())
    })
  }

  /** Writes the gathered settlements at the end of this turn of the event loop. */
  flushSoon(): void {
    if (this.#isScheduled || this.#waiting.size === 0) return
    this.#isScheduled = true
    this.#setup.ports.timers.soon(() => this.#flush())
  }

  #flush(): void {
    this.#isScheduled = false
    this.#cancelGathering?.()
    this.#cancelGathering = undefined
    const waiting = this.#waiting
    this.#waiting = new Map()
    for (const [queue, entries] of waiting) {
      for (const some of slicesOf(entries, limits.messagesPerCall.max)) void this.#call(queue, some)
    }
  }

  async #call(queue: string, entries: readonly Waiting[]): Promise<void> {
    this.#calls.set(entries, this.#setup.ports.clock.monotonic())
    this.#inCalls += entries.length
    try {
      const settlements = entries.map(({ settlement }) => settlement)
      const results = await this.#setup.backend.settle({ queue, settlements })
      for (const [index, { resolve, reject }] of entries.entries()) {
        const result = results[index]
        // A backend must return a result for each entry, so this one violates the port.
        if (result === undefined) reject(new MillraceError('store_failed'))
        // A full disk refuses a settlement that emits much. It is retried while its lease is alive.
        else if (result.status === 'refused' && result.error.retryable) reject(result.error)
        else resolve(result)
      }
    } catch (error) {
      for (const { reject } of entries) reject(error)
    } finally {
      this.#calls.delete(entries)
      this.#inCalls -= entries.length
      if (this.#wasBehind) this.#setup.onProgress?.()
    }
  }
}

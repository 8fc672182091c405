/**
 * Slots for invocations. A slot counts against several limits at once: the account, the function, the event
 * source. It is granted only when all of them have room. The caller that has waited longest comes first.
 */
export class Limit {
  #max: number
  #used = 0

  constructor(max: number) {
    this.#max = max
  }

  get used(): number {
    return this.#used
  }

  get hasRoom(): boolean {
    return this.#used < this.#max
  }

  /** Slots in use remain. A lower limit takes effect as slots are released. */
  setMax(max: number): void {
    this.#max = max
  }

  add(count: 1 | -1): void {
    this.#used += count
  }
}

/** Releases the slot. Further calls do nothing. */
export type ReleaseSlot = () => void

interface Waiting {
  readonly limits: readonly Limit[]
  readonly grant: (release: ReleaseSlot) => void
}

export class Slots {
  readonly #waiting = new Set<Waiting>()

  /** Waits for a slot. Resolves with undefined if the signal is aborted. */
  acquire(limits: readonly Limit[], signal: AbortSignal): Promise<ReleaseSlot | undefined> {
    if (signal.aborted) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const stopWaiting = (): void => {
        this.#waiting.delete(waiting)
        resolve(undefined)
      }
      const waiting: Waiting = {
        limits,
        grant: (release) => {
          signal.removeEventListener('abort', stopWaiting)
          resolve(release)
        },
      }
      signal.addEventListener('abort', stopWaiting, { once: true })
      this.#waiting.add(waiting)
      this.serve()
    })
  }

  /** Grants slots to waiting callers, after a slot was released or a limit raised. */
  serve(): void {
    for (const waiting of this.#waiting) {
      if (!waiting.limits.every(({ hasRoom }) => hasRoom)) continue
      this.#waiting.delete(waiting)
      waiting.grant(this.#take(waiting.limits))
    }
  }

  #take(limits: readonly Limit[]): ReleaseSlot {
    for (const limit of limits) limit.add(1)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      for (const limit of limits) limit.add(-1)
      this.serve()
    }
  }
}

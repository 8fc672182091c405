/**
 * Room for invocations. A slot counts against several limits at once (the account, the function, the
 * event source) and is given only when all of them have room, to those who wait longest first.
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

  /** What is in use stays; a lower limit takes effect as slots come back. */
  setMax(max: number): void {
    this.#max = max
  }

  add(count: 1 | -1): void {
    this.#used += count
  }
}

/** Gives the slot back; further calls do nothing. */
export type GiveBack = () => void

interface Waiting {
  readonly limits: readonly Limit[]
  readonly grant: (giveBack: GiveBack) => void
}

export class Slots {
  readonly #waiting = new Set<Waiting>()

  /** Waits for a slot; undefined when the caller has given up. */
  acquire(limits: readonly Limit[], signal: AbortSignal): Promise<GiveBack | undefined> {
    if (signal.aborted) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const giveUp = (): void => {
        this.#waiting.delete(waiting)
        resolve(undefined)
      }
      const waiting: Waiting = {
        limits,
        grant: (giveBack) => {
          signal.removeEventListener('abort', giveUp)
          resolve(giveBack)
        },
      }
      signal.addEventListener('abort', giveUp, { once: true })
      this.#waiting.add(waiting)
      this.serve()
    })
  }

  /** Looks who can go on: after a slot came back, or a limit was raised. */
  serve(): void {
    for (const waiting of this.#waiting) {
      if (!waiting.limits.every(({ hasRoom }) => hasRoom)) continue
      this.#waiting.delete(waiting)
      waiting.grant(this.#take(waiting.limits))
    }
  }

  #take(limits: readonly Limit[]): GiveBack {
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

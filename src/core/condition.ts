/** Lets callers wait until something holds. */
export class Condition {
  readonly #holds: () => boolean
  readonly #waiting: (() => void)[] = []

  constructor(holds: () => boolean) {
    this.#holds = holds
  }

  async wait(): Promise<void> {
    while (!this.#holds()) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** Must be called whenever it may have begun to hold. */
  check(): void {
    if (this.#waiting.length === 0 || !this.#holds()) return
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

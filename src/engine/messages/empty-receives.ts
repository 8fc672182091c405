/**
 * Receives that found nothing, counted in memory until the next commit of metrics takes them along: an
 * empty receive costs no commit of its own, and what a crash loses of them is a few seconds' worth.
 */
export class EmptyReceives {
  #counts = new Map<string, number>()

  get isEmpty(): boolean {
    return this.#counts.size === 0
  }

  note(queue: string, count = 1): void {
    this.#counts.set(queue, (this.#counts.get(queue) ?? 0) + count)
  }

  /** Hands over what was counted; should it not be kept, it is noted again. */
  take(): ReadonlyMap<string, number> {
    const taken = this.#counts
    this.#counts = new Map()
    return taken
  }
}

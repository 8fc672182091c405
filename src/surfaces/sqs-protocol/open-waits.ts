/** Requests that wait for something, so that they end when their client goes or the server stops. */
import type { ServerResponse } from 'node:http'

export class OpenWaits {
  readonly #open = new Set<AbortController>()
  readonly #stopping: AbortSignal

  constructor(stopping: AbortSignal) {
    this.#stopping = stopping
    stopping.addEventListener(
      'abort',
      () => {
        for (const wait of this.#open) wait.abort()
      },
      { once: true },
    )
  }

  /** Aborted once the answer cannot be given any more, or should not be waited for. */
  open(response: ServerResponse): AbortSignal {
    const wait = new AbortController()
    if (response.destroyed || this.#stopping.aborted) wait.abort()
    this.#open.add(wait)
    response.once('close', () => {
      this.#open.delete(wait)
      if (!response.writableFinished) wait.abort()
    })
    return wait.signal
  }
}

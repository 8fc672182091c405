/** Requests that wait for something, so that they end when their client goes or the server stops. */
import type { Socket } from 'node:net'

export class OpenWaits {
  /** One for all requests of a connection: those who poll do it again and again. */
  readonly #open = new Map<Socket, AbortController>()
  readonly #stopping: AbortSignal

  constructor(stopping: AbortSignal) {
    this.#stopping = stopping
    stopping.addEventListener(
      'abort',
      () => {
        for (const wait of this.#open.values()) wait.abort()
      },
      { once: true },
    )
  }

  /** Aborted once the answer cannot be given any more, or should not be waited for. */
  open(socket: Socket): AbortSignal {
    if (socket.destroyed || this.#stopping.aborted) return AbortSignal.abort()
    let wait = this.#open.get(socket)
    if (wait === undefined) {
      wait = this.#begin(socket)
      this.#open.set(socket, wait)
    }
    return wait.signal
  }

  #begin(socket: Socket): AbortController {
    const wait = new AbortController()
    socket.once('close', () => {
      this.#open.delete(socket)
      wait.abort()
    })
    return wait
  }
}

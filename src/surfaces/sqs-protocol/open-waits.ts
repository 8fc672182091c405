/** Waiting requests. They end when the client disconnects or the server stops. */
import type { Socket } from 'node:net'

export class OpenWaits {
  /** One per connection, because clients that poll use it again and again. */
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

  /** Aborts when the client has disconnected or the server stops. */
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

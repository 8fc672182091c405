/**
 * The connections of a listener. If there are too many, connections are closed in this order: those that
 * never sent a request, idle ones, and those with an incomplete request. A connection that waits for a
 * response is never closed. So clients that only hold connections cannot block others.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Timers } from '../core/ports.ts'
import type { ConnectionLimits } from './connection-limits.ts'

interface Connection {
  /** Requests without a complete response. */
  open: number
  latest: IncomingMessage | undefined
  /** Bytes that the client had read at the last check, if more was left to read. */
  stalledAt: number | undefined
}

export type ConnectionsSetup = Pick<
  ConnectionLimits,
  'connectionsMax' | 'pipelinedMax' | 'lingerMs' | 'readTimeoutMs'
> & {
  readonly timers: Timers
  /** Called after each response. */
  readonly afterAnswer: () => void
}

export class Connections {
  readonly #setup: ConnectionsSetup
  readonly #all = new Map<Socket, Connection>()
  /** Both in the order of waiting. */
  readonly #silent = new Set<Socket>()
  readonly #resting = new Set<Socket>()

  constructor(setup: ConnectionsSetup) {
    this.#setup = setup
  }

  add(socket: Socket): void {
    this.#all.set(socket, { open: 0, latest: undefined, stalledAt: undefined })
    this.#silent.add(socket)
    socket.once('close', () => {
      this.#all.delete(socket)
      this.#silent.delete(socket)
      this.#resting.delete(socket)
    })
    if (this.#all.size > this.#setup.connectionsMax) this.#mostDispensable(socket).destroy()
  }

  /** Returns false if the connection had too many requests and was closed. */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request
    const connection = this.#all.get(socket)
    if (connection === undefined) return false
    this.#silent.delete(socket)
    this.#resting.delete(socket)
    connection.open += 1
    connection.latest = request
    response.once('close', () => {
      this.#end(request, connection)
      this.#setup.afterAnswer()
    })
    if (connection.open <= this.#setup.pipelinedMax) return true
    socket.destroy()
    return false
  }

  /** Closes connections of clients that do not read. Returns a function that ends the watch. */
  watchReaders(): () => void {
    const { timers, readTimeoutMs } = this.#setup
    let cancel = (): void => undefined
    const look = (): void => {
      this.#cutOffStalled()
      cancel = timers.after(readTimeoutMs, look, { background: true })
    }
    look()
    return () => cancel()
  }

  /** Node closes connections that are idle after a request, but not those that never sent one. */
  closeSilent(): void {
    for (const socket of this.#all.keys()) if (socket.bytesRead === 0) socket.destroy()
  }

  #cutOffStalled(): void {
    for (const [socket, connection] of this.#all) {
      const unread = socket.writableLength
      const read = socket.bytesWritten - unread
      if (unread > 0 && connection.stalledAt === read) socket.destroy()
      connection.stalledAt = unread > 0 ? read : undefined
    }
  }

  #end(request: IncomingMessage, connection: Connection): void {
    const { socket } = request
    connection.open -= 1
    if (socket.destroyed) return
    if (!request.complete) this.#linger(request)
    if (connection.open === 0) this.#resting.add(socket)
  }

  /**
   * If the connection closed at once, a client that still sends would not see the response. So the rest is
   * read for a limited time.
   */
  #linger(request: IncomingMessage): void {
    const { lingerMs, timers } = this.#setup
    const cutOff = timers.after(lingerMs, () => request.socket.destroy(), { background: true })
    request.once('close', cutOff)
    request.resume()
  }

  #mostDispensable(newcomer: Socket): Socket {
    for (const socket of this.#silent) if (socket !== newcomer) return socket
    for (const socket of this.#resting) return socket
    for (const [socket, { latest }] of this.#all) if (latest?.complete === false) return socket
    return newcomer
  }
}

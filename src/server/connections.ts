/**
 * The connections of a listener, and who has to go when there are too many: first those that never
 * asked anything, then those that rest between requests, then those whose request does not get
 * finished. Nobody who waits for an answer is cut off, so a crowd that only holds connections keeps
 * nobody out.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Timers } from '../core/ports.ts'
import type { ConnectionLimits } from './connection-limits.ts'

interface Connection {
  /** Requests whose answers are under way. */
  open: number
  latest: IncomingMessage | undefined
  /** How much the client had read at the last look, if something was left to read. */
  stalledAt: number | undefined
}

export type ConnectionsSetup = Pick<
  ConnectionLimits,
  'connectionsMax' | 'pipelinedMax' | 'lingerMs' | 'readTimeoutMs'
> & {
  readonly timers: Timers
  /** Called whenever an answer is over. */
  readonly afterAnswer: () => void
}

export class Connections {
  readonly #setup: ConnectionsSetup
  readonly #all = new Map<Socket, Connection>()
  /** Both in the order in which they have been waiting. */
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

  /** False: the connection has asked for too much at once, and is gone. */
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

  /** Cuts off clients that do not read, until the returned function is called. */
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

  /** Node closes connections that are idle after a request, but not those that never made one. */
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
   * A client that still sends would not see an answer on a connection that is closed at once. Nor may
   * it send for ever.
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

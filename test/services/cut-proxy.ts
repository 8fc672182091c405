/**
 * A TCP proxy that fails when a test wants it to: it cuts connections, now or after a number of bytes, delays or
 * holds the traffic, and refuses new connections. It counts the bytes of each direction.
 */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { freePort } from './free-port.ts'

export type Direction = 'toServer' | 'toClient'

/** Starts a proxy to a port of this machine. */
export async function startCutProxy(targetPort: number): Promise<CutProxy> {
  const proxy = new CutProxy({ targetPort, port: await freePort() })
  await proxy.accept()
  return proxy
}

interface Limit {
  readonly direction: Direction
  bytesLeft: number
  readonly onCut: () => void
}

export class CutProxy {
  readonly port: number
  readonly #targetPort: number
  readonly #server = createServer({ allowHalfOpen: true }, (client) => this.#connect(client))
  readonly #sockets = new Set<Socket>()
  readonly #bytes: Record<Direction, number> = { toServer: 0, toClient: 0 }
  #limit: Limit | undefined
  #delayMs = 0
  #held: PromiseWithResolvers<void> | undefined

  constructor({ targetPort, port }: { readonly targetPort: number; readonly port: number }) {
    this.#targetPort = targetPort
    this.port = port
  }

  /** Bytes forwarded so far, over all connections. */
  get bytes(): Readonly<Record<Direction, number>> {
    return { ...this.#bytes }
  }

  /** The same URL through the proxy. */
  url(target: string): string {
    const url = new URL(target)
    url.hostname = '127.0.0.1'
    url.port = String(this.port)
    return url.href
  }

  /** Cuts all connections. New ones work. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#limit?.onCut()
    this.#limit = undefined
  }

  /**
   * Cuts all connections once this number of further bytes has been forwarded in one direction, over all
   * connections. With 0, it cuts when the next byte arrives, and does not forward it. Resolves after the cut.
   */
  cutAfter(bytes: number, direction: Direction): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#limit = { direction, bytesLeft: bytes, onCut: resolve }
    return promise
  }

  /** Delays each chunk of data in both directions. 0 ends the delay. */
  delay(ms: number): void {
    this.#delayMs = ms
  }

  /** Forwards nothing, but keeps the connections: a network that has failed silently. */
  hold(): void {
    this.#held ??= Promise.withResolvers<void>()
  }

  /** Forwards what was held. */
  release(): void {
    this.#held?.resolve()
    this.#held = undefined
  }

  /** Refuses new connections. Those that exist stay. */
  refuse(): void {
    if (this.#server.listening) this.#server.close()
  }

  /** Accepts connections again, on the same port. */
  async accept(): Promise<void> {
    if (this.#server.listening) return
    this.#server.listen(this.port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  close(): void {
    this.refuse()
    this.cut()
    this.release()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #connect(client: Socket): void {
    const server = connect({ port: this.#targetPort, host: '127.0.0.1', allowHalfOpen: true })
    const sockets = [client, server]
    for (const socket of sockets) {
      this.#sockets.add(socket)
      socket.setNoDelay(true)
      // One side never outlives the other, or a client would wait for a server that has gone.
      socket.once('close', () => {
        this.#sockets.delete(socket)
        for (const other of sockets) other.destroy()
      })
      // The reason does not matter: the other side is closed as well.
      socket.on('error', () => {})
    }
    void this.#forward('toServer', client, server)
    void this.#forward('toClient', server, client)
  }

  async #forward(direction: Direction, from: Socket, to: Socket): Promise<void> {
    try {
      // A client that has sent everything may still wait for the reply.
      for await (const chunk of from.iterator({ destroyOnReturn: false })) {
        if (this.#delayMs > 0) await setTimeout(this.#delayMs)
        await this.#held?.promise
        await this.#pass(direction, chunk, to)
      }
      to.end()
    } catch {
      to.destroy()
    }
  }

  async #pass(direction: Direction, chunk: Buffer, to: Socket): Promise<void> {
    const limit = this.#limit?.direction === direction ? this.#limit : undefined
    const part = limit === undefined ? chunk : chunk.subarray(0, limit.bytesLeft)
    if (limit !== undefined) limit.bytesLeft -= part.length
    if (part.length > 0) await written(to, part)
    this.#bytes[direction] += part.length
    if (limit?.bytesLeft === 0 && this.#limit === limit) this.cut()
  }
}

function written(socket: Socket, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(bytes, (error) => (error ? reject(error) : resolve()))
  })
}

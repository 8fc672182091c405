/**
 * The HTTP listener that all ways in share: timeouts against slow clients, and a stop that lets
 * requests finish but does not wait for ever.
 */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { MillraceError } from '../core/millrace-error.ts'
import type { Timers } from '../core/ports.ts'
import { systemReason } from './system-error.ts'

export interface ListenRequest {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  readonly answer: RequestListener
  readonly timers: Timers
}

export interface Listener {
  readonly host: string
  readonly port: number
  readonly url: string
  /** Accepts nothing more, and answers when every connection has ended. */
  close(): Promise<void>
}

/** Headers that take longer come from a client that is stuck or hostile. */
const headersTimeoutMs = 10_000
/** Enough for the largest request over a poor line. */
const requestTimeoutMs = 60_000
/** Longer than the idle time of common clients, so that it is they who hang up. */
const keepAliveTimeoutMs = 65_000
/** How often Node looks for connections that are over the limits above. */
const connectionCheckMs = 2_000
/** How long requests may take to finish once the listener closes. */
const drainMs = 5_000

export async function listen({ host, port, answer, timers }: ListenRequest): Promise<Listener> {
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      connectionsCheckingInterval: connectionCheckMs,
    },
    (request, response) => {
      // Once the listener closes, a connection must not stay open after its answer, whether that
      // answer is still to be made or was under way.
      if (!server.listening) response.setHeader('connection', 'close')
      response.once('close', () => {
        if (!server.listening) server.closeIdleConnections()
      })
      answer(request, response)
    },
  )
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const address = await bind(server, { host, port })
  return {
    host,
    port: address.port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    close: () => close({ server, sockets, timers }),
  }
}

function bind(server: Server, at: { host: string; port: number }): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const message = `Cannot listen on ${at.host} port ${at.port}: ${systemReason(error, reasons)}.`
      reject(new MillraceError('address_unavailable', { message, cause: error }))
    })
    server.listen({ ...at, exclusive: true }, () => resolve(server.address() as AddressInfo))
  })
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program is using the port',
  EADDRNOTAVAIL: 'this machine does not have the address',
  EACCES: 'this user may not open the port',
  ENOTFOUND: 'the name is not known',
}

interface Closing {
  readonly server: Server
  readonly sockets: ReadonlySet<Socket>
  readonly timers: Timers
}

function close({ server, sockets, timers }: Closing): Promise<void> {
  return new Promise((resolve) => {
    const giveUp = timers.after(drainMs, () => server.closeAllConnections())
    server.close(() => {
      giveUp()
      resolve()
    })
    // Node closes connections that are idle after a request, but not those that never made one.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  })
}

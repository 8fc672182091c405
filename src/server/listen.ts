/**
 * The HTTP listener of all surfaces. Limits slow and idle clients. A stop lets requests finish, but only for
 * a limited time.
 */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { MillraceError } from '../core/millrace-error.ts'
import type { Timers } from '../core/ports.ts'
import { systemReason } from '../core/system-reason.ts'
import {
  type ConnectionLimits,
  type ConnectionOptions,
  connectionLimits,
} from './connection-limits.ts'
import { Connections } from './connections.ts'

export interface ListenRequest {
  readonly host: string
  /** 0 chooses a free port. */
  readonly port: number
  readonly answer: RequestListener
  readonly timers: Timers
  readonly limits?: ConnectionOptions
}

export interface Listener {
  readonly host: string
  readonly port: number
  readonly url: string
  /** Stops accepting connections. Resolves when every connection has ended. */
  close(): Promise<void>
}

export async function listen(request: ListenRequest): Promise<Listener> {
  const { host, port, timers } = request
  const limits = connectionLimits(request.limits)
  const connections = new Connections({
    ...limits,
    timers,
    // After the listener closes, a connection must end with its current response.
    afterAnswer: () => {
      if (!server.listening) server.closeIdleConnections()
    },
  })
  const server = createListener(request.answer, { limits, connections })
  const address = await bind(server, { host, port })
  server.once('close', connections.watchReaders())
  return {
    host,
    port: address.port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    close: () => close({ server, connections, timers, drainMs: limits.drainMs }),
  }
}

interface Guards {
  readonly limits: ConnectionLimits
  readonly connections: Connections
}

function createListener(answer: RequestListener, { limits, connections }: Guards): Server {
  const options = {
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    maxHeaderSize: limits.headerBytesMax,
  }
  const server = createServer(options, (request, response) => {
    if (!connections.begin(request, response)) return
    // The same for a response that has not started.
    if (!server.listening) response.setHeader('connection', 'close')
    if (request.rawHeaders.length > 2 * limits.headersMax) response.writeHead(431).end()
    else answer(request, response)
  })
  // Above its limit, Node would drop headers silently.
  server.maxHeadersCount = 0
  server.on('connection', (socket) => connections.add(socket))
  return server
}

function bind(server: Server, at: { host: string; port: number }): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const message = `Cannot listen on ${at.host} port ${at.port}: ${systemReason(error, reasons)}.`
      reject(new MillraceError('address_unavailable', { message, cause: error }))
    })
    server.listen({ ...at, exclusive: true }, () => {
      // Later errors concern single connections that could not be accepted.
      server.on('error', () => undefined)
      resolve(server.address() as AddressInfo)
    })
  })
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program is using the port',
  EADDRNOTAVAIL: 'this machine does not have the address',
  EACCES: 'this user may not open the port',
  ENOTFOUND: 'the host name cannot be resolved',
}

interface Closing {
  readonly server: Server
  readonly connections: Connections
  readonly timers: Timers
  readonly drainMs: number
}

function close({ server, connections, timers, drainMs }: Closing): Promise<void> {
  return new Promise((resolve) => {
    const giveUp = timers.after(drainMs, () => server.closeAllConnections())
    server.close(() => {
      giveUp()
      resolve()
    })
    connections.closeSilent()
  })
}

/** A client that writes any bytes to the socket, well-formed or not. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface RawClient {
  readonly socket: Socket
  write(text: string): void
  /** Resolves to everything received, once it matches the pattern. */
  said(pattern: RegExp): Promise<string>
  /** Resolves to everything received, once the server has closed the connection. */
  cutOff(): Promise<string>
  close(): void
}

export async function rawClient(url: string): Promise<RawClient> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let heard = ''
  let hasEnded = false
  const onNews = new Set<() => void>()
  const tell = (): void => {
    for (const run of onNews) run()
  }
  socket.on('data', (chunk: Buffer) => {
    heard += chunk.toString('latin1')
    tell()
  })
  // The server may reset a connection that it no longer reads.
  socket.on('error', () => {})
  socket.on('close', () => {
    hasEnded = true
    tell()
  })
  await once(socket, 'connect')
  const until = (isThere: () => boolean): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (isThere()) resolve(heard)
        else if (hasEnded) reject(new Error(`The server closed the connection after: ${heard}`))
        else return
        onNews.delete(look)
      }
      onNews.add(look)
      look()
    })
  return {
    socket,
    write: (text) => void socket.write(text, 'latin1'),
    said: (pattern) => until(() => pattern.test(heard)),
    cutOff: () => until(() => hasEnded),
    close: () => socket.destroy(),
  }
}

/** Writes a chunk at intervals until the connection closes. */
export function drip(client: RawClient, piece: string, everyMs: number): void {
  const timer = setInterval(() => client.write(piece), everyMs)
  client.socket.once('close', () => clearInterval(timer))
}

/**
 * A TCP port for a server that must get the same port again after a restart. It is below the range from which
 * systems take the ports of outgoing connections: one of these could take the port while the server is stopped.
 */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

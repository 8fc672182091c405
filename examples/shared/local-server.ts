/** An HTTP server on this machine, for stubs of external services. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type ServerType, serve } from '@hono/node-server'

export class LocalServer implements AsyncDisposable {
  readonly #server: ServerType

  constructor(fetch: (request: Request) => Response | Promise<Response>, port = 0) {
    this.#server = serve({ fetch, hostname: '127.0.0.1', port })
  }

  async listening(): Promise<void> {
    await once(this.#server, 'listening')
  }

  get url(): string {
    // The address of a listening TCP server has this type.
    const { port } = this.#server.address() as AddressInfo
    return `http://127.0.0.1:${port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    if ('closeAllConnections' in this.#server) this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }
}

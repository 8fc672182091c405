/** A server in a process of its own, one for all tests of a file, with the clients that talk to it. */
import { afterAll, beforeAll, vi } from 'vitest'
import { type CliProcess, startCli } from '../../support/cli-process.ts'
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts'
import type { ClientKind, ClientSettings, SqsClient } from './sqs-client.ts'

export interface WireServer {
  /** Scheme, address and port. */
  readonly url: string
  /** A client as its users have it, closed after the tests. */
  client(kind: ClientKind, settings?: Partial<ClientSettings>): SqsClient
}

export interface WireServerOptions {
  /** Whether names and purges are blocked for a minute, as on AWS. */
  readonly cooldowns?: boolean
  readonly env?: Readonly<Record<string, string>>
}

export function wireServer(purpose: string, options: WireServerOptions = {}): WireServer {
  // Most of these tests wait for the server's clock, and not for the machine.
  vi.setConfig({ maxConcurrency: 12 })
  let folder: TemporaryFolder
  let server: CliProcess
  let url = ''
  const clients = new Map<string, SqsClient>()
  beforeAll(async () => {
    folder = await temporaryFolder(purpose)
    const args = ['serve', '--port', '0', '--data', folder.file('data'), '--log', 'warn']
    server = startCli(options.cooldowns ? args : [...args, '--no-cooldowns'], options.env)
    const [, address = ''] = await server.output(/listening on (http:\S+)/)
    url = address
  })
  afterAll(async () => {
    await Promise.all([...clients.values()].map((client) => client.close()))
    server.kill('SIGTERM')
    await server.ended
    await folder.remove()
  })
  return {
    get url() {
      return url
    },
    client(kind, settings = {}) {
      const key = JSON.stringify([kind.name, settings])
      const known = clients.get(key)
      if (known !== undefined) return known
      const client = kind.open({ endpoint: url, ...settings })
      clients.set(key, client)
      return client
    },
  }
}

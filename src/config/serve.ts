/**
 * Starts a server: the embedded store in its data directory, the upkeep of that store, and one
 * listener for all ways in. The ways in are handed over by the caller, so that this file knows the
 * store and they do not.
 */
import type { RequestListener } from 'node:http'
import { MillraceError } from '../core/millrace-error.ts'
import { type Ports, systemPorts } from '../core/ports.ts'
import { Sweeper } from '../maintenance/sweeper.ts'
import { prepareDataDirectory } from './data-directory.ts'
import { listen } from './listen.ts'
import { isLoopback } from './loopback.ts'
import { warnOf } from './notice.ts'

export interface ServeOptions {
  /** A loopback address. Default: 127.0.0.1. */
  readonly host?: string
  /** 0 takes any free port. Default: 4566, where clients of SQS emulators look already. */
  readonly port?: number
  /** Where the store lives; created when missing. Default: `.millrace`. */
  readonly dataDirectory?: string
  /** Time, chance and identity. Default: those of the machine. */
  readonly ports?: Ports
}

/** What the ways in may ask of a running server. */
export interface Services {
  /** Answers when the store can be used; rejects with the reason when it cannot. */
  ready(): Promise<void>
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal
}

export interface RunningServer {
  readonly host: string
  readonly port: number
  readonly url: string
  /** Absolute. */
  readonly dataDirectory: string
  /** Finishes the requests at hand and lets go of the store. Further calls share one promise. */
  stop(): Promise<void>
}

export const serveDefaults: Readonly<Required<Omit<ServeOptions, 'ports'>>> = {
  host: '127.0.0.1',
  port: 4566,
  dataDirectory: '.millrace',
}

export async function serveWith(
  waysIn: (services: Services) => RequestListener,
  options: ServeOptions = {},
): Promise<RunningServer> {
  const { host, port, dataDirectory } = { ...serveDefaults, ...options }
  const { ports = systemPorts } = options
  refusePublicAddress(host)

  const data = await prepareDataDirectory(dataDirectory)
  const { openSqlite } = await import('../backends/sqlite/index.ts')
  const backend = await openSqlite({ file: data.file, ports })
  const sweeper = new Sweeper({
    backend,
    timers: ports.timers,
    onFailure: (failure) => warnOf({ kind: 'sweep_failed', ...failure }),
  })
  const stopping = new AbortController()
  const answer = waysIn({ ready: () => backend.check(), stopping: stopping.signal })
  const listener = await listen({ host, port, answer, timers: ports.timers }).catch(
    async (error: unknown) => {
      await backend.close()
      throw error
    },
  )
  sweeper.start()

  let stopped: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    stopping.abort()
    await listener.close()
    await sweeper.stop()
    await backend.close()
  }
  return {
    host: listener.host,
    port: listener.port,
    url: listener.url,
    dataDirectory: data.path,
    stop() {
      stopped ??= stop()
      return stopped
    },
  }
}

function refusePublicAddress(host: string): void {
  if (isLoopback(host)) return
  throw new MillraceError('address_unavailable', {
    message:
      `Refusing to listen on ${host}: without credentials the server is for this machine only. ` +
      'Use 127.0.0.1, ::1 or localhost.',
  })
}

/**
 * A real Postgres server for one test, one benchmark or a whole test run. It has its own folder, port and socket,
 * can be stopped as in a crash and started again, and ends with the process that started it.
 */
import { existsSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabase, type DatabaseOptions } from './create-database.ts'
import { freePort } from './free-port.ts'
import { postgresPrograms } from './server-programs.ts'
import { ServerShell } from './server-shell.ts'

export interface PostgresOptions {
  /**
   * Never loses a commit, even if the machine fails. Default: false. Then the server is faster, and keeps its data
   * in memory if the system has enough of it.
   */
  readonly durable?: boolean
  /** How text is sorted. Default: `en-US`, because most servers in production do not sort by bytes. */
  readonly collation?: 'en-US' | 'C'
  readonly settings?: PostgresSettings
  /** The text of pg_hba.conf: who may connect, and how. Default: everyone, without a password. */
  readonly access?: string
  /** Offers TLS with this certificate and its key, in PEM. Default: no TLS. */
  readonly tls?: { readonly certificate: string; readonly key: string }
}

export type PostgresSettings = Readonly<Record<string, string>>

/** `immediate` is a crash: the next start recovers from the log. */
export type StopMode = 'fast' | 'immediate'

export interface PostgresServer {
  readonly port: number
  url(database: string): string
  socketUrl(database: string): string
  /** Creates an empty database, or a copy of a template, and returns its URL. */
  createDatabase(name: string, options?: DatabaseOptions): Promise<string>
  /** Ends all connections and resolves when the server has ended. Its data stays. */
  stop(mode: StopMode): Promise<void>
  /** Starts a stopped server on the same data and port. */
  start(): Promise<void>
  /** The same, as a replica: it can be read, and refuses to write. */
  startAsReplica(): Promise<void>
  /** Stops the server and removes its data. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const signals: Readonly<Record<StopMode, string>> = { fast: 'INT', immediate: 'QUIT' }

const durableSettings: PostgresSettings = { fsync: 'on', synchronous_commit: 'on' }

const fastSettings: PostgresSettings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  shared_buffers: '32MB',
  max_wal_size: '256MB',
  // Statements of tests run for less time than it takes to compile them.
  jit: 'off',
}

export async function startPostgresServer({
  durable = false,
  collation = 'en-US',
  settings = {},
  access,
  tls,
}: PostgresOptions = {}): Promise<PostgresServer> {
  const programs = postgresPrograms()
  const port = await freePort()
  const shell = new ServerShell({
    name: 'Postgres',
    parentFolder: durable ? tmpdir() : fastFolder(),
    stopSignal: signals.fast,
  })
  const data = join(shell.folder, 'data')
  const file = (name: string, text: string): string => shell.writeFile({ name, text })
  const command = [
    ...[join(programs, 'postgres'), '-D', data],
    ...Object.entries({
      port: String(port),
      listen_addresses: '127.0.0.1',
      unix_socket_directories: shell.folder,
      max_connections: '200',
      ...(durable ? durableSettings : fastSettings),
      ...(access !== undefined && { hba_file: file('access.conf', access) }),
      ...(tls !== undefined && {
        ssl: 'on',
        ssl_cert_file: file('server.crt', tls.certificate),
        ssl_key_file: file('server.key', tls.key),
      }),
      ...settings,
    }).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
  const start = (): Promise<void> =>
    shell.start({
      command,
      ready: /database system is ready to accept (?:read-only )?connections/,
      // A client that connects too early is refused as "FATAL: the database system is starting up".
      failed: /(?:FATAL|PANIC):(?! *the database system is)|aborting startup/,
    })
  const url = (database: string): string => `postgres://postgres@127.0.0.1:${port}/${database}`
  try {
    await shell.run([join(programs, 'initdb'), ...initOptions({ data, durable, collation })])
    await start()
  } catch (error) {
    await shell.close()
    throw error
  }
  return {
    port,
    url,
    socketUrl: (database) =>
      `postgres:///${database}?host=${encodeURIComponent(shell.folder)}&port=${port}&user=postgres`,
    createDatabase: (name, options) =>
      createDatabase({ server: url('postgres'), name, ...options }),
    stop: (mode) => shell.stop(signals[mode]),
    start,
    startAsReplica: async () => {
      shell.writeFile({ name: 'data/standby.signal', text: '' })
      await start()
    },
    close: () => shell.close(),
    [Symbol.asyncDispose]: () => shell.close(),
  }
}

interface InitOptions {
  readonly data: string
  readonly durable: boolean
  readonly collation: 'en-US' | 'C'
}

function initOptions({ data, durable, collation }: InitOptions): readonly string[] {
  const options = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C']
  if (collation !== 'C') options.push('--locale-provider=icu', `--icu-locale=${collation}`)
  if (!durable) options.push('--no-sync')
  return options
}

/** In memory, unless it is only as small as containers have it: a server starts with 40 MB and grows. */
function fastFolder(): string {
  const memory = '/dev/shm'
  if (!existsSync(memory)) return tmpdir()
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize >= 1024 ** 3 ? memory : tmpdir()
}

/**
 * A real PgBouncer in transaction mode, in front of a Postgres server. Each transaction may run on another
 * connection of the server: settings of a session, `LISTEN` and prepared statements do not survive. It ends with
 * the process that started it.
 */
import { tmpdir } from 'node:os'
import { freePort } from './free-port.ts'
import { pgbouncerProgram } from './server-programs.ts'
import { ServerShell } from './server-shell.ts'

export interface PgbouncerOptions {
  /** The port of a Postgres server on this machine, or of a proxy to one. */
  readonly serverPort: number
  /** Connections to the server for each database. Default: 10. */
  readonly poolSize?: number
}

export interface Pgbouncer {
  readonly port: number
  /** For any database of the server. */
  url(database: string): string
  /** Ends all connections and resolves when PgBouncer has ended. */
  stop(): Promise<void>
  /** Starts a stopped PgBouncer on the same port. */
  start(): Promise<void>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Does not wait for transactions, unlike `INT`. */
const stopSignal = 'TERM'

export async function startPgbouncer({
  serverPort,
  poolSize = 10,
}: PgbouncerOptions): Promise<Pgbouncer> {
  const program = pgbouncerProgram()
  const port = await freePort()
  const shell = new ServerShell({ name: 'PgBouncer', parentFolder: tmpdir(), stopSignal })
  const text = configuration({ port, serverPort, poolSize })
  const file = shell.writeFile({ name: 'pgbouncer.ini', text })
  const start = (): Promise<void> =>
    shell.start({ command: [program, file], ready: /process up/, failed: /FATAL/ })
  try {
    await start()
  } catch (error) {
    await shell.close()
    throw error
  }
  return {
    port,
    url: (database) => `postgres://postgres@127.0.0.1:${port}/${database}`,
    stop: () => shell.stop(stopSignal),
    start,
    close: () => shell.close(),
    [Symbol.asyncDispose]: () => shell.close(),
  }
}

interface Configuration extends Required<PgbouncerOptions> {
  readonly port: number
}

function configuration({ port, serverPort, poolSize }: Configuration): string {
  return [
    '[databases]',
    `* = host=127.0.0.1 port=${serverPort} user=postgres`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    // Needs no file with users, because every database has its user above.
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${poolSize}`,
    'max_client_conn = 500',
    // The default makes clients wait 15 seconds after a restart of the server.
    'server_login_retry = 0.1',
    '',
  ].join('\n')
}

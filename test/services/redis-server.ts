/**
 * A real Redis server for one test or a whole test run. It has its own folder and port, can be stopped as in a
 * crash and started again, and ends with the process that started it.
 */
import { tmpdir } from 'node:os'
import { freePort } from './free-port.ts'
import { redisProgram } from './server-programs.ts'
import { ServerShell } from './server-shell.ts'

export interface RedisOptions {
  /** Each reply is on disk before it is sent. Default: false. Then a stop loses everything. */
  readonly durable?: boolean
  /** As Redis has it: `2mb`. Default: no limit. */
  readonly maxmemory?: string
  /** What a full server does. Default: `noeviction`. */
  readonly policy?: string
  /** Further directives of redis.conf, such as `user` or `replicaof`. */
  readonly directives?: readonly string[]
  /** Of the default user. Default: none. */
  readonly password?: string
}

/** `immediate` is a crash. */
export type RedisStopMode = 'fast' | 'immediate'

export interface RedisServer {
  readonly port: number
  readonly url: string
  /** Ends all connections and resolves when the server has ended. */
  stop(mode: RedisStopMode): Promise<void>
  /** Starts a stopped server on the same port, and with its data if it is durable. */
  start(): Promise<void>
  /** Stops the server and removes its data. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const signals: Readonly<Record<RedisStopMode, string>> = { fast: 'TERM', immediate: 'KILL' }

export async function startRedisServer({
  durable = false,
  maxmemory,
  policy = 'noeviction',
  directives = [],
  password,
}: RedisOptions = {}): Promise<RedisServer> {
  const program = redisProgram()
  const port = await freePort()
  const shell = new ServerShell({
    name: 'Redis',
    parentFolder: tmpdir(),
    stopSignal: signals.immediate,
  })
  const file = shell.writeFile({
    name: 'redis.conf',
    text: [
      'bind 127.0.0.1',
      `port ${port}`,
      `dir ${shell.folder}`,
      'save ""',
      `appendonly ${durable ? 'yes' : 'no'}`,
      'appendfsync always',
      `maxmemory-policy ${policy}`,
      ...(maxmemory === undefined ? [] : [`maxmemory ${maxmemory}`]),
      ...(password === undefined ? [] : [`requirepass ${password}`]),
      // Replicas of tests start at once, instead of after five seconds.
      'repl-diskless-sync-delay 0',
      ...directives,
      '',
    ].join('\n'),
  })
  const start = (): Promise<void> =>
    shell.start({
      command: [program, file],
      ready: /Ready to accept connections/,
      failed: /FATAL|Fatal error|Failed listening|Bad directive|Can't open/i,
    })
  try {
    await start()
  } catch (error) {
    await shell.close()
    throw error
  }
  const user = password === undefined ? '' : `:${encodeURIComponent(password)}@`
  return {
    port,
    url: `redis://${user}127.0.0.1:${port}/0`,
    stop: (mode) => shell.stop(signals[mode]),
    start,
    close: () => shell.close(),
    [Symbol.asyncDispose]: () => shell.close(),
  }
}

/** The connections of one carrier: one for commands, and one for each queue that is waited for. */
import { Redis, type RedisOptions } from 'ioredis'
import type { RedisAddress } from './any-redis.ts'
import { redisError } from './redis-error.ts'

export interface ConnectionsOptions {
  readonly address: RedisAddress
  readonly place: string
  readonly onNotice: (text: string) => void
}

/** The longest pause between two attempts to connect. */
const reconnectMsMax = 1_000

const settings = {
  lazyConnect: true,
  connectTimeout: 5_000,
  keepAlive: 10_000,
  retryStrategy: (attempts: number) => Math.min(50 * attempts, reconnectMsMax),
  // Commands in flight fail at once when the connection is lost, and are never sent a second time: a repeated
  // fetch would leave the first job leased to no receiver. Later ones wait for one attempt to connect. (With
  // `autoResendUnfulfilledCommands: false` instead, those in flight would never end.)
  maxRetriesPerRequest: 0,
  // After a failover, the address may lead to another server.
  reconnectOnError: (error: Error) => /^READONLY|^UNBLOCKED/.test(error.message),
  replyMapping: 'legacy',
} as const

export class Connections {
  readonly main: Redis
  readonly #options: ConnectionsOptions
  readonly #all = new Set<Redis>()
  #isClosed = false

  constructor(options: ConnectionsOptions) {
    this.#options = options
    this.main = this.#owned(created(options.address))
  }

  /** Rejects with the reason if the first attempt fails. */
  async connect(): Promise<void> {
    const { place, onNotice } = this.#options
    let reason: unknown
    const note = (error: unknown): void => {
      reason ??= error
    }
    this.main.on('error', note)
    try {
      await this.main.connect()
    } catch (error) {
      throw redisError(reason ?? error, place)
    } finally {
      this.main.off('error', note)
    }
    let isLost = false
    this.main.on('close', () => {
      if (isLost || this.#isClosed) return
      isLost = true
      onNotice(`The connection to Redis at ${place} was lost.`)
    })
    this.main.on('ready', () => {
      if (isLost) onNotice(`The connection to Redis at ${place} works again.`)
      isLost = false
    })
  }

  /** Another connection, for commands that block it. */
  another(): Redis {
    const connection = this.#owned(this.main.duplicate(settings))
    if (this.#isClosed) connection.disconnect()
    return connection
  }

  /** Ends a connection that does not reply, without waiting for the other side. It then connects again. */
  reset(connection: Redis): void {
    connection.stream?.destroy()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const connection of this.#all) if (connection !== this.main) connection.disconnect()
    // Its replies arrive before the connection ends, unless it is lost.
    if (this.main.status === 'ready') await this.main.quit().catch(() => undefined)
    this.main.disconnect()
  }

  #owned(connection: Redis): Redis {
    this.#all.add(connection)
    // The calls that fail report it.
    connection.on('error', () => {})
    return connection
  }
}

function created(address: RedisAddress): Redis {
  if ('url' in address) return new Redis(address.url, settings)
  if ('instance' in address) return address.instance.duplicate(settings) as Redis
  return new Redis({ ...(address.options as RedisOptions), ...settings })
}

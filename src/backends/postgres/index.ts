/** A store in a Postgres database, which any number of processes and machines share. */
import pg from 'pg'
import { systemPorts } from '../../core/ports.ts'
import { engineBackend } from '../../engine/engine-backend.ts'
import type { Backend } from '../backend.ts'
import { checkedBackend } from '../checked-backend.ts'
import { nothingSealed, type StoreOpening } from '../store.ts'
import type { AnyPool } from './any-pool.ts'
import { otherThreadFor } from './driver/lease-renewer.ts'
import { openingError } from './opening-error.ts'
import { placeOf } from './place.ts'
import { PostgresDatabase } from './postgres-database.ts'

export interface PostgresOptions extends Partial<StoreOpening> {
  readonly url?: string
  /** Used instead of the URL, and not closed with the store. */
  readonly pool?: AnyPool
  /** Default: `millrace`. */
  readonly schema?: string
  /** Connections of this process at most. Default: 10. */
  readonly connections?: number
  /** Takes the time from the ports instead of the database, in tests. Default: false. */
  readonly usesPortsTime?: boolean
}

export interface OpenedPostgres {
  readonly backend: Backend
  /** Resolves when nothing is under way. */
  whenIdle(): Promise<void>
}

export async function openPostgres(options: PostgresOptions): Promise<OpenedPostgres> {
  const { schema = 'millrace', ports = systemPorts, usesPortsTime = false } = options
  const { create = true, sealing, onClockChange, onAttemptLost, busyTimeoutMs = 15_000 } = options
  const ownsPool = options.pool === undefined
  const pool = ownsPool ? newPool(options) : (options.pool as pg.Pool)
  const opening = sealing ?? nothingSealed
  try {
    const database = await PostgresDatabase.open({
      pool,
      ownsPool,
      schema,
      connect: () => newClient(pool),
      ports,
      usesPortsTime,
      opening,
      create,
      patienceMs: busyTimeoutMs,
      // A thread has no time but that of the database.
      otherThread: usesPortsTime
        ? null
        : otherThreadFor({ pool, ownsPool, schema, keyIds: opening.keyIds }),
      onClockChange,
      onAttemptLost,
    })
    const backend = engineBackend(database)
    return {
      backend: checkedBackend(sealing === undefined ? backend : await sealing.wrap(backend)),
      whenIdle: () => database.whenIdle(),
    }
  } catch (error) {
    if (ownsPool && !pool.ended) await pool.end()
    throw openingError(error, placeOf(options.pool ?? options.url ?? ''))
  }
}

function newPool({ url, connections = 10, busyTimeoutMs }: PostgresOptions): pg.Pool {
  const names = { fallback_application_name: 'millrace' }
  return new pg.Pool({
    connectionString: url,
    max: connections,
    keepAlive: true,
    pipeline: true,
    Client: clientWith(Math.min(connectTimeoutMs, busyTimeoutMs ?? connectTimeoutMs)),
    ...names,
  })
}

/** How long the server may take to accept a connection. */
const connectTimeoutMs = 10_000

/** The option of the pool would also limit how long calls wait for a connection that is in use. */
function clientWith(connectionTimeoutMillis: number): new () => pg.Client {
  return class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, connectionTimeoutMillis })
    }
  }
}

/** A connection of its own, made as the pool makes those it lends. */
function newClient(pool: pg.Pool): pg.Client {
  const { Client, options } = pool as pg.Pool & { readonly Client: typeof pg.Client }
  return new Client(options)
}

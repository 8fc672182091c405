/**
 * Extends and releases leases from another thread, on its own connection, while the thread that holds them is
 * busy with a handler.
 */
import pg from 'pg'
import { systemPorts } from '../../../core/ports.ts'
import { extendLeases } from '../../../engine/messages/extending.ts'
import { settleLeases } from '../../../engine/messages/settling.ts'
import type { LeaseRenewer, OtherThread } from '../../backend.ts'
import { nothingSealed } from '../../store.ts'
import { PostgresDatabase } from '../postgres-database.ts'
import { storageError } from './faults.ts'

/** The second one is for asking what became of a commit whose connection was lost. */
const connectionsMax = 2

/** This file, as `import()` takes it, from the sources and from the build. */
const renewerModule: string = import.meta.url

export interface StoreOfThread {
  readonly pool: pg.Pool
  /** Its class of connections is ours, and only limits how long connecting takes. */
  readonly ownsPool: boolean
  readonly schema: string
  /** Of the encryption keys. The thread needs no content. */
  readonly keyIds: readonly string[]
}

/** Null if a thread cannot make the connections of the pool, such as with a function for the password. */
export function otherThreadFor(store: StoreOfThread): OtherThread | null {
  const { pool, ownsPool, schema, keyIds } = store
  const { options } = pool
  // The pool hides its password from loops.
  const { Client, ...connection } = { ...options, password: options.password }
  if ((Client !== undefined && !ownsPool) || !isPlain(connection)) return null
  const copied = JSON.stringify({ connection, schema, keyIds } satisfies RenewerOptions)
  const thread = { module: renewerModule, options: { copied } }
  // So that nothing prints the password with the backend.
  return Object.defineProperty(thread, 'options', { enumerable: false })
}

interface RenewerOptions extends Omit<StoreOfThread, 'pool' | 'ownsPool'> {
  readonly connection: pg.PoolConfig
}

function isPlain(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'function'
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return false
  // What is hidden, such as a private key, would be missing.
  const names = Object.getOwnPropertyNames(value)
  if (!Array.isArray(value) && names.length !== Object.keys(value).length) return false
  return Object.values(value).every(isPlain)
}

export function openRenewer(options: OtherThread['options']): LeaseRenewer {
  const { connection, schema, keyIds }: RenewerOptions = JSON.parse(String(options['copied']))
  const { password, ...others } = connection
  const given = password === undefined ? others : connection
  // The thread sleeps, and would notice late that a connection was idle for too long.
  const settings = {
    ...given,
    max: connectionsMax,
    idleTimeoutMillis: 0,
    pipeline: true,
    fallback_application_name: 'millrace leases',
  }
  let opened: Promise<PostgresDatabase> | undefined
  const open = async (): Promise<PostgresDatabase> => {
    const pool = new pg.Pool(settings)
    try {
      return await PostgresDatabase.open({
        pool,
        ownsPool: true,
        schema,
        connect: () => new pg.Client(given),
        ports: systemPorts,
        opening: { ...nothingSealed, keyIds },
        create: false,
        otherThread: null,
        patienceMs: 15_000,
      })
    } catch (error) {
      opened = undefined
      await pool.end()
      throw storageError(error)
    }
  }
  const database = (): Promise<PostgresDatabase> => {
    opened ??= open()
    return opened
  }
  return {
    open: async () => void (await database()),
    extend: async (request) => (await database()).change((tx) => extendLeases(tx, request)),
    async release({ queue, receipts }) {
      const store = await database()
      const outcome = { kind: 'release' } as const
      const settlements = receipts.map((receipt) => ({ receipt, outcome }))
      await store.settle((tx) => settleLeases(tx, { queue, settlements }))
      // The thread sleeps afterwards.
      await store.whenNotified()
    },
    close: async () => (await opened?.catch(() => undefined))?.close(),
  }
}

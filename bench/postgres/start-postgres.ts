/**
 * A Postgres server for a benchmark: in a separate directory, reachable only through a socket there, and as durable as
 * the embedded store.
 */
import { startPostgresServer } from '../../test/services/postgres-server.ts'
import { query } from '../../test/services/query.ts'
import { MissingProgramError } from '../../test/services/server-programs.ts'
import type { Skipped } from '../peers.ts'

export interface Postgres {
  readonly url: string
  /** Creates an empty database, and returns its URL. */
  createDatabase(name: string): Promise<string>
  stop(): Promise<void>
}

/** Besides the settings of a server that never loses a commit. */
const settings: Readonly<Record<string, string>> = {
  listen_addresses: '',
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
}

export async function startPostgres(): Promise<Postgres | Skipped> {
  try {
    const server = await startPostgresServer({ durable: true, collation: 'C', settings })
    const url = server.socketUrl('postgres')
    return {
      url,
      createDatabase: async (name) => {
        await query(url, `CREATE DATABASE ${name}`)
        return server.socketUrl(name)
      },
      stop: server.close,
    }
  } catch (error) {
    if (error instanceof MissingProgramError) return { skipped: error.message }
    throw error
  }
}

/** A store in a Postgres database, which any number of processes and machines share. */
import pg from 'pg'
import { type Ports, systemPorts } from '../../core/ports.ts'
import { engineBackend } from '../../engine/engine-backend.ts'
import type { Backend } from '../backend.ts'
import { checkedBackend } from '../checked-backend.ts'
import { storageError } from './driver/faults.ts'
import { PostgresDatabase } from './postgres-database.ts'

export interface PostgresOptions {
  readonly url: string
  /** Default: `millrace`. */
  readonly schema?: string
  /** Connections of this process at most. Default: 10. */
  readonly connections?: number
  readonly ports?: Ports
  /** Takes the time from the ports instead of the database, in tests. Default: false. */
  readonly usesPortsTime?: boolean
}

export interface OpenedPostgres {
  readonly backend: Backend
  /** Resolves when nothing is under way. */
  whenIdle(): Promise<void>
}

const nothingSealed = { keyIds: [], open: (text: string): string => text }

export async function openPostgres(options: PostgresOptions): Promise<OpenedPostgres> {
  const { url, schema = 'millrace', connections = 10, ports = systemPorts } = options
  const { usesPortsTime = false } = options
  const pool = new pg.Pool({ connectionString: url, max: connections, pipeline: true })
  try {
    const database = await PostgresDatabase.open({
      pool,
      ownsPool: true,
      schema,
      connect: () => new pg.Client({ connectionString: url }),
      ports,
      usesPortsTime,
      opening: nothingSealed,
    })
    return {
      backend: checkedBackend(engineBackend(database)),
      whenIdle: () => database.whenIdle(),
    }
  } catch (error) {
    await pool.end()
    throw storageError(error)
  }
}

/**
 * A Postgres database as a store: checks what was given, and loads the driver when the store is opened, so
 * that a program can name a store without having the package `pg`.
 */
import { checkRange, describeGiven, type Violations } from '../../core/checks.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../../core/options.ts'
import type { Store } from '../store.ts'
import { type AnyPool, poolOf } from './any-pool.ts'
import { encodedUrl, parsedUrl, placeOf } from './place.ts'

export interface PostgresStoreOptions {
  /** The schema of the store. It is created if missing. Default: `millrace`. */
  readonly schema?: string
  /**
   * Connections of this process at most, one more that listens, and one for each worker that keeps leases from
   * another thread. A pool has its own limit. Default: 10.
   */
  readonly connections?: number
}

const storeOptions: OptionNames<PostgresStoreOptions> = { schema: true, connections: true }

/** The channel of a store is `millrace:` and the schema, in 63 characters. */
const schemaPattern = /^(?!pg_)[a-z_][a-z0-9_-]{0,53}$/i

const connectionsRange = { min: 1, max: 1_000, unit: 'connections' }

/**
 * @param database a URL, such as `postgres://user:password@host:5432/database`, or a pool, which stays open when
 *   the store is closed. A URL may have the options too: `?schema=millrace&connections=10`.
 */
export function postgres(database: string | AnyPool, options: PostgresStoreOptions = {}): Store {
  refuseUnknownOptions(options, storeOptions)
  const { address, ...inUrl } = typeof database === 'string' ? readUrl(database) : noUrl
  const pool = typeof database === 'string' ? undefined : poolOf(database)
  const { schema = 'millrace', connections = 10 } = { ...inUrl, ...options }
  const violations: Violations = []
  checkSchema(violations, schema)
  checkRange(violations, 'connections', connections, connectionsRange)
  if (violations.length > 0) throw MillraceError.invalid(violations)
  return {
    place: `${placeOf(pool ?? address)}, schema ${schema}`,
    async open(opening) {
      const { openPostgres } = await loaded()
      const at = pool === undefined ? { url: address } : { pool }
      return (await openPostgres({ ...at, schema, connections, ...opening })).backend
    },
  }
}

async function loaded(): Promise<typeof import('./index.ts')> {
  // Looked for first, so that no other failure is taken for a missing package.
  await import('pg').catch((cause: unknown) => {
    const message =
      'A store on Postgres needs the package pg, which cannot be loaded. Install it: npm install pg'
    throw new MillraceError('store_unusable', { message, cause })
  })
  return import('./index.ts')
}

interface PostgresUrl extends PostgresStoreOptions {
  /** The URL without the options of the store. */
  readonly address: string
}

const noUrl: PostgresUrl = { address: '' }

function readUrl(url: string): PostgresUrl {
  if (parsedUrl(url) === undefined) throw invalidUrl()
  const [address = '', query] = url.split('?')
  if (query === undefined) return { address }
  const parameters = new URLSearchParams(query)
  const schema = parameters.get('schema')
  const connections = parameters.get('connections')
  if (schema === null && connections === null) return { address: url }
  parameters.delete('schema')
  parameters.delete('connections')
  return {
    address: parameters.size === 0 ? address : `${address}?${parameters}`,
    ...(schema !== null && { schema }),
    ...(connections !== null && { connections: Number(connections) }),
  }
}

/** Never quotes the URL, which contains a password. */
function invalidUrl(): MillraceError {
  const given = 'a URL that cannot be read'
  return MillraceError.invalid([{ field: 'store', given, allowed: encodedUrl }])
}

function checkSchema(into: Violations, schema: unknown): void {
  if (typeof schema === 'string' && schemaPattern.test(schema)) return
  const allowed = '1 to 54 letters, digits, _ and -, beginning with a letter or _, and not with pg_'
  into.push({ field: 'schema', given: describeGiven(schema), allowed })
}

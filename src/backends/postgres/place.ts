/** Where a database is, for people to read: never with a password. */
import type { AnyPool } from './any-pool.ts'

export interface Place {
  readonly host?: string | undefined
  readonly port?: string | number | undefined
  readonly user?: string | undefined
  /** Of the database. */
  readonly name?: string | undefined
}

/** What the URL of a store must be. */
export const encodedUrl: string =
  'a URL such as postgres://user:password@host:5432/database, with special characters of the password percent-encoded: %23 for #, %2F for /, %3F for ?, %25 for %'

/** `postgres://host:port/database` of a URL or a pool. */
export function placeOf(database: string | AnyPool): string {
  const { host, port, name } = placeIn(database)
  return `postgres://${host || 'localhost'}${port ? `:${port}` : ''}/${name ?? ''}`
}

export function placeIn(database: string | AnyPool): Place {
  if (typeof database === 'string') return placeInUrl(database)
  const { options = {} } = database as { options?: PoolOptions }
  const { connectionString, host, port, user, database: name } = options
  return connectionString === undefined ? { host, port, user, name } : placeInUrl(connectionString)
}

interface PoolOptions extends Pick<Place, 'host' | 'port' | 'user'> {
  readonly connectionString?: string
  readonly database?: string
}

function placeInUrl(url: string): Place {
  const { hostname, port, username = '', pathname = '', searchParams } = parsedUrl(url) ?? {}
  return {
    host: searchParams?.get('host') ?? hostname,
    port: searchParams?.get('port') ?? port,
    user: searchParams?.get('user') ?? decodeURIComponent(username),
    name: decodeURIComponent(pathname.slice(1)),
  }
}

/**
 * Undefined if it is not a URL of Postgres, or a part of it is not percent-encoded as it must be. A socket needs
 * no host: `postgres://user@/database?host=/run`.
 */
export function parsedUrl(url: string): URL | undefined {
  if (!/^postgres(?:ql)?:\/\//.test(url)) return undefined
  const parsed = URL.parse(url) ?? URL.parse(url.replace('@/', '@localhost/'))
  return parsed === null || isCutShort(parsed) || !isDecodable(parsed) ? undefined : parsed
}

/**
 * Whether a #, / or ? of the password has ended it. What follows is then not a host, and what precedes it looks
 * like a host and a port.
 */
function isCutShort({ username, pathname, hash, search, searchParams }: URL): boolean {
  if (hash !== '' || /[/@]/.test(pathname.slice(1))) return true
  return username === '' && search.includes('@') && !searchParams.has('user')
}

function isDecodable({ username, password, pathname }: URL): boolean {
  try {
    decodeURIComponent(username + password + pathname)
    return true
  } catch {
    return false
  }
}

/** Where a database is, for people to read: never with a password. */
import type { AnyPool } from './any-pool.ts'

export interface Place {
  readonly host?: string | undefined
  readonly port?: string | number | undefined
  readonly user?: string | undefined
  /** Of the database. */
  readonly name?: string | undefined
}

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

/** Undefined if it is not a URL of Postgres. A socket needs no host: `postgres://user@/database?host=/run`. */
export function parsedUrl(url: string): URL | undefined {
  if (!/^postgres(?:ql)?:\/\//.test(url)) return undefined
  return URL.parse(url) ?? URL.parse(url.replace('@/', '@localhost/')) ?? undefined
}

/** Where a database is, for people to read: never with a password. */
import type { AnyPool } from './any-pool.ts'

/** `postgres://host:port/database` of a URL or a pool. */
export function placeOf(database: string | AnyPool): string {
  if (typeof database === 'string') return placeOfUrl(database)
  const { options = {} } = database as { options?: Place & { readonly connectionString?: string } }
  const { connectionString } = options
  return connectionString === undefined ? placeText(options) : placeOfUrl(connectionString)
}

/** Undefined if it is not a URL of Postgres. A socket needs no host: `postgres://user@/database?host=/run`. */
export function parsedUrl(url: string): URL | undefined {
  if (!/^postgres(?:ql)?:\/\//.test(url)) return undefined
  return URL.parse(url) ?? URL.parse(url.replace('@/', '@localhost/')) ?? undefined
}

interface Place {
  readonly host?: string | undefined
  readonly port?: string | number | undefined
  readonly database?: string | undefined
}

function placeOfUrl(url: string): string {
  const { hostname = '', port = '', pathname = '', searchParams } = parsedUrl(url) ?? {}
  const host = searchParams?.get('host') ?? hostname
  return placeText({ host, port, database: pathname.slice(1) })
}

function placeText({ host, port, database }: Place): string {
  return `postgres://${host || 'localhost'}${port ? `:${port}` : ''}/${database ?? ''}`
}

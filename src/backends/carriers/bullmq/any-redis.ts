/** What a program passes as the connection, without the types of `ioredis`: the package may be missing. */
import { describeGiven } from '../../../core/checks.ts'
import { MillraceError } from '../../../core/millrace-error.ts'

/**
 * An instance of `Redis` of the package `ioredis`. Its settings are used for connections of the carrier's own; the
 * instance itself is neither used nor closed.
 */
export interface AnyRedis {
  readonly options: object
  readonly status: string
  duplicate(override?: object): unknown
}

/** The options of `new Redis(options)`: `host`, `port`, `username`, `password`, `db`, `tls`, `sentinels` and others. */
export type AnyRedisOptions = Readonly<Record<string, unknown>>

export type RedisAddress =
  | { readonly url: string }
  | { readonly instance: AnyRedis }
  | { readonly options: AnyRedisOptions }

const allowed =
  'a URL such as redis://user:password@host:6379/0 with special characters of the password percent-encoded, an instance of Redis of ioredis, or its options'

/** Throws `invalid_argument` if it is something else. Never quotes a URL, which may contain a password. */
export function addressOf(given: unknown): RedisAddress {
  if (typeof given === 'string') return { url: readUrl(given) }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw refused(describeGiven(given))
  }
  if ('duplicate' in given && 'options' in given) {
    if ('isCluster' in given && given.isCluster === true) throw refused('a Redis Cluster')
    return { instance: withoutKeyPrefix(given as AnyRedis, given.options) }
  }
  return { options: withoutKeyPrefix(given as AnyRedisOptions, given) }
}

/** `redis://host:port/db`: for people to read, never with a user or a password. */
export function placeOf(address: RedisAddress): string {
  if ('url' in address) {
    const { protocol, hostname, port, pathname } = new URL(address.url)
    const socket = hostname === '' ? pathname : undefined
    if (socket !== undefined) return `redis socket ${socket}`
    return `${protocol}//${hostname}:${port || '6379'}/${pathname.slice(1) || '0'}`
  }
  const options = ('instance' in address ? address.instance.options : address.options) as {
    readonly host?: string
    readonly port?: number
    readonly db?: number
    readonly path?: string | null
    readonly name?: string
    readonly sentinels?: unknown
    readonly tls?: unknown
  }
  if (typeof options.path === 'string') return `redis socket ${options.path}`
  const { host = 'localhost', port = 6379, db = 0, name = '' } = options
  if (options.sentinels) return `redis sentinel ${name}, database ${db}`
  return `${options.tls ? 'rediss' : 'redis'}://${host}:${port}/${db}`
}

function readUrl(url: string): string {
  const parsed = URL.parse(url)
  const isRedis = parsed !== null && /^rediss?:$/.test(parsed.protocol) && parsed.hash === ''
  // A / or ? of the password has ended it: what looks like a host and a port is then a part of the password.
  if (!isRedis || /[/@]/.test(parsed.pathname.slice(1)) || parsed.search.includes('@')) {
    throw refused('a URL that cannot be read')
  }
  return url
}

function withoutKeyPrefix<T>(given: T, options: unknown): T {
  const { keyPrefix } = Object(options) as { readonly keyPrefix?: unknown }
  if (!keyPrefix) return given
  throw MillraceError.invalid([
    {
      field: 'connection.keyPrefix',
      given: describeGiven(keyPrefix),
      allowed: 'nothing: BullMQ needs its own option prefix instead',
    },
  ])
}

function refused(given: string): MillraceError {
  return MillraceError.invalid([{ field: 'connection', given, allowed }])
}

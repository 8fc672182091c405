/**
 * What one client may cost a listener. The defaults leave room for 1 MiB over a slow line and for thousands of long
 * polls, and cut off clients that only hold a connection.
 */
import { checkRange, type Violations } from '../core/checks.ts'
import { type Duration, durationMs, formatDuration } from '../core/durations.ts'
import type { Range } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { refuseUnknownOptions } from '../core/options.ts'

export interface ConnectionOptions {
  /** Connections at the same time. Beyond it, idle ones make room for new ones. Default 10,000. */
  readonly connectionsMax?: number
  /** Requests on one connection that wait for their responses. Default 100. */
  readonly pipelinedMax?: number
  /** The address and all headers of a request together. Default 32 KiB. */
  readonly headerBytesMax?: number
  /** Headers of a request. Default 100. */
  readonly headersMax?: number
  /** How long the headers of a request may take, on a new connection from its start. Default 10s. */
  readonly headersTimeout?: Duration
  /** How long a request may take to arrive with its body. Default 60s. */
  readonly requestTimeout?: Duration
  /** How long a connection may stay idle between requests. Default 65s. */
  readonly keepAliveTimeout?: Duration
  /** How long to read the rest of a body after the response was sent without it. Default 2s. */
  readonly linger?: Duration
  /** How long a client may take to read what one write sent. It is cut off after twice that. Default 60s. */
  readonly readTimeout?: Duration
  /** How often to look for connections that exceed these times. Default 2s. */
  readonly checkInterval?: Duration
  /** How long requests may take to finish once the listener closes. Default 5s. */
  readonly drain?: Duration
}

type Counts = 'connectionsMax' | 'pipelinedMax' | 'headerBytesMax' | 'headersMax'
type Times = Exclude<keyof ConnectionOptions, Counts>

/** The options with their defaults; times in milliseconds. */
export type ConnectionLimits = { readonly [Name in Counts]: number } & {
  readonly [Name in Times as `${Name}Ms`]: number
}

const defaults: Required<ConnectionOptions> = {
  connectionsMax: 10_000,
  pipelinedMax: 100,
  headerBytesMax: 32 * 1_024,
  headersMax: 100,
  headersTimeout: '10s',
  requestTimeout: '60s',
  // Longer than the idle time of common clients, so that the client closes the connection.
  keepAliveTimeout: '65s',
  linger: '2s',
  readTimeout: '60s',
  checkInterval: '2s',
  drain: '5s',
}

const times = { min: 1, max: 3_600_000 }

const counts: Readonly<Record<Counts, Range>> = {
  connectionsMax: { min: 1, max: 1_000_000, unit: 'connections' },
  pipelinedMax: { min: 1, max: 1_000_000, unit: 'requests' },
  headerBytesMax: { min: 1_024, max: 2 ** 20, unit: 'bytes' },
  headersMax: { min: 10, max: 2_000, unit: 'headers' },
}

export function connectionLimits(given: ConnectionOptions = {}): ConnectionLimits {
  refuseUnknownOptions(given, knownOptions, 'connections.')
  const options = { ...defaults, ...given }
  const violations: Violations = []
  for (const [name, range] of Object.entries(counts)) {
    checkRange(violations, `connections.${name}`, Reflect.get(options, name), range)
  }
  const ms = (name: Times): number => durationMs(options[name], `connections.${name}`, times)
  const { connectionsMax, pipelinedMax, headerBytesMax, headersMax } = options
  const limits: ConnectionLimits = {
    connectionsMax,
    pipelinedMax,
    headerBytesMax,
    headersMax,
    headersTimeoutMs: ms('headersTimeout'),
    requestTimeoutMs: ms('requestTimeout'),
    keepAliveTimeoutMs: ms('keepAliveTimeout'),
    lingerMs: ms('linger'),
    readTimeoutMs: ms('readTimeout'),
    checkIntervalMs: ms('checkInterval'),
    drainMs: ms('drain'),
  }
  const { headersTimeoutMs, requestTimeoutMs } = limits
  if (headersTimeoutMs > requestTimeoutMs) {
    const allowed = `at most connections.requestTimeout, ${formatDuration(requestTimeoutMs)}`
    const field = 'connections.headersTimeout'
    violations.push({ field, given: formatDuration(headersTimeoutMs), allowed })
  }
  if (violations.length > 0) throw MillraceError.invalid(violations)
  return limits
}

const knownOptions = Object.fromEntries(Object.keys(defaults).map((name) => [name, true as const]))

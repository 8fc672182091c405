/**
 * Limits for clients of a listener. The defaults allow 1 MiB over a slow line and thousands of long polls,
 * and close connections that only stay open.
 */
import { checkRange, type Violations } from '../core/checks.ts'
import type { Range } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'

export interface ConnectionLimits {
  /** Open connections. Above the limit, idle ones are closed for new ones. Default: 10,000. */
  readonly connectionsMax: number
  /** Pipelined requests on one connection. Default: 100. */
  readonly pipelinedMax: number
  /** Size of the URL and all headers of a request. Default: 32 KiB. */
  readonly headerBytesMax: number
  /** Number of headers of a request. Default: 100. */
  readonly headersMax: number
  /** How long the headers of a request may take, on a new connection from its start. Default: 10 s. */
  readonly headersTimeoutMs: number
  /** How long a request may take to arrive, with its body. Default: 60 s. */
  readonly requestTimeoutMs: number
  /** How long a connection may be idle between requests. Default: 65 s. */
  readonly keepAliveTimeoutMs: number
  /** How long to read the rest of a body after an early response. Default: 2 s. */
  readonly lingerMs: number
  /** How long a client may take to read a write; closed after at most twice that. Default: 60 s. */
  readonly readTimeoutMs: number
  /** How often to check for connections over these limits. Default: 2 s. */
  readonly checkIntervalMs: number
  /** How long requests may take to finish after the listener closes. Default: 5 s. */
  readonly drainMs: number
}

const defaults: ConnectionLimits = {
  connectionsMax: 10_000,
  pipelinedMax: 100,
  headerBytesMax: 32 * 1_024,
  headersMax: 100,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  // Longer than the idle timeout of common clients, so that the client closes the connection first.
  keepAliveTimeoutMs: 65_000,
  lingerMs: 2_000,
  readTimeoutMs: 60_000,
  checkIntervalMs: 2_000,
  drainMs: 5_000,
}

const times = { min: 1, max: 3_600_000, unit: 'ms' }

const ranges: Readonly<Record<keyof ConnectionLimits, Range>> = {
  connectionsMax: { min: 1, max: 1_000_000, unit: 'connections' },
  pipelinedMax: { min: 1, max: 1_000_000, unit: 'requests' },
  headerBytesMax: { min: 1_024, max: 2 ** 20, unit: 'bytes' },
  headersMax: { min: 10, max: 2_000, unit: 'headers' },
  headersTimeoutMs: times,
  requestTimeoutMs: times,
  keepAliveTimeoutMs: times,
  lingerMs: times,
  readTimeoutMs: times,
  checkIntervalMs: times,
  drainMs: times,
}

export function connectionLimits(given: Partial<ConnectionLimits> = {}): ConnectionLimits {
  const limits = { ...defaults, ...given }
  const violations: Violations = []
  for (const [name, range] of Object.entries(ranges)) {
    checkRange(violations, `connections.${name}`, Reflect.get(limits, name), range)
  }
  const { headersTimeoutMs, requestTimeoutMs } = limits
  if (headersTimeoutMs > requestTimeoutMs) {
    const allowed = `at most the ${requestTimeoutMs} ms of connections.requestTimeoutMs`
    const field = 'connections.headersTimeoutMs'
    violations.push({ field, given: `${headersTimeoutMs} ms`, allowed })
  }
  if (violations.length > 0) throw MillraceError.invalid(violations)
  return limits
}

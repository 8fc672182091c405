/** The settings of the API with their defaults. They are checked when the API is created. */
import type { App } from '../../contracts/define-app.ts'
import { jobsQueuesOf } from '../../contracts/jobs-declaration.ts'
import { checkRange, describeGiven, type Violations } from '../../core/checks.ts'
import { type Duration, durationMs } from '../../core/durations.ts'
import type { Range } from '../../core/limits.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { type Ports, systemPorts } from '../../core/ports.ts'
import { type Logger, silentLogger } from '../../observability/logger.ts'
import type { ApiAuth } from './authenticate.ts'

export interface ApiOptions {
  /** The keys of queues to which users may add jobs. Default: none. */
  readonly userQueues?: readonly string[]
  /** Maximum size of a body, 1 KiB to 64 MiB. Default: 1 MiB. */
  readonly bodyBytesMax?: number
  /** How long a body may take to arrive. Default: 30s. */
  readonly bodyTimeout?: Duration
  /** Limit for enqueues and retries of one caller, per process. Default: 100 per second. */
  readonly enqueueRate?: EnqueueRate
  /** Maximum number of open event streams per caller, 1 to 10,000. Default: 20. */
  readonly streamsPerCaller?: number
  /** Logs each request. Default: no log. */
  readonly log?: Logger
}

export interface EnqueueRate {
  readonly max: number
  /** At least 1s. */
  readonly per: Duration
}

export interface JobsApiOptions extends ApiOptions {
  /**
   * The credentials of callers. `'none'` gives every caller all rights: use it only if others cannot connect.
   */
  readonly auth: ApiAuth | 'none'
  /** The path at which the API is mounted, such as `/api`. Default: the root. */
  readonly basePath?: string
  /** Ends all event streams when it aborts, for a server that stops. */
  readonly signal?: AbortSignal
  /** Clock, timers, random numbers and ids. Default: those of the system. */
  readonly ports?: Ports
}

export interface ApiSettings {
  readonly auth: ApiAuth | 'none'
  readonly userQueues: ReadonlySet<string>
  readonly bodyBytesMax: number
  readonly bodyTimeoutMs: number
  readonly enqueueRate: { readonly max: number; readonly perMs: number }
  readonly streamsPerCaller: number
  readonly log: Logger
  readonly ports: Ports
  readonly signal: AbortSignal
}

const ranges = {
  bodyBytesMax: { min: 1_024, max: 64 * 2 ** 20, unit: 'bytes' },
  bodyTimeout: { min: 100, max: 600_000, unit: 'ms' },
  enqueueRateMax: { min: 1, max: 1_000_000, unit: 'requests' },
  enqueueRatePer: { min: 1_000, max: 86_400_000, unit: 'ms' },
  streamsPerCaller: { min: 1, max: 10_000, unit: 'streams' },
} as const satisfies Readonly<Record<string, Range>>

export function apiSettings(options: Omit<JobsApiOptions, 'basePath'>, app?: App): ApiSettings {
  const { userQueues = [], enqueueRate = { max: 100, per: '1s' } } = options
  const settings: ApiSettings = {
    auth: options.auth,
    userQueues: new Set(userQueues),
    bodyBytesMax: options.bodyBytesMax ?? 2 ** 20,
    bodyTimeoutMs: durationMs(options.bodyTimeout ?? '30s', 'bodyTimeout'),
    enqueueRate: {
      max: enqueueRate.max,
      perMs: durationMs(enqueueRate.per, 'enqueueRate.per'),
    },
    streamsPerCaller: options.streamsPerCaller ?? 20,
    log: options.log ?? silentLogger,
    ports: options.ports ?? systemPorts,
    signal: options.signal ?? new AbortController().signal,
  }
  refuseSettings(settings, app)
  return settings
}

function refuseSettings(settings: ApiSettings, app: App | undefined): void {
  const violations: Violations = []
  const { bodyBytesMax, bodyTimeoutMs, enqueueRate, streamsPerCaller, userQueues } = settings
  checkRange(violations, 'bodyBytesMax', bodyBytesMax, ranges.bodyBytesMax)
  checkRange(violations, 'bodyTimeout', bodyTimeoutMs, ranges.bodyTimeout)
  checkRange(violations, 'enqueueRate.max', enqueueRate.max, ranges.enqueueRateMax)
  checkRange(violations, 'enqueueRate.per', enqueueRate.perMs, ranges.enqueueRatePer)
  checkRange(violations, 'streamsPerCaller', streamsPerCaller, ranges.streamsPerCaller)
  const keys = app === undefined ? [] : Object.keys(jobsQueuesOf(app.queues))
  for (const key of userQueues) {
    if (keys.includes(key)) continue
    const allowed = keys.length === 0 ? 'an app with job queues' : `keys from ${keys.join(', ')}`
    violations.push({ field: 'userQueues', given: describeGiven(key), allowed })
  }
  if (violations.length > 0) throw MillraceError.invalid(violations)
}

/** The options of a job. */
import type { Idempotency, NewJob } from '../backends/job-store.ts'
import { checkBackoff } from '../contracts/check-controls.ts'
import {
  attemptsOf,
  expiresAfterOf,
  type JobsQueue,
  type JobType,
} from '../contracts/jobs-declaration.ts'
import type { Backoff } from '../contracts/queue-declaration.ts'
import { backoffOf } from '../contracts/resolve-controls.ts'
import { checkRange, checkText, describeGiven, type Violations } from '../core/checks.ts'
import { type DueOptions, dueOf } from '../core/due-options.ts'
import { type Duration, durationMs } from '../core/durations.ts'
import {
  checkJobLabels,
  givenLabels,
  hasLabels,
  type JobLabels,
  jobLabelOptions,
} from '../core/job-labels.ts'
import { limits, type Range } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import type { Clock } from '../core/ports.ts'
import { parseTraceparent } from '../core/trace-context.ts'
import {
  type DebounceOptions,
  debounceOf,
  refuseTogether,
  type ThrottleOptions,
  throttleOf,
} from './job-windows.ts'

/** The options of one job. */
export interface JobOptions extends JobLabels, DueOptions {
  /**
   * Makes `enqueue` return the existing job for a repeated key of the same queue, type and owner; 1 to 256
   * characters.
   */
  readonly idempotencyKey?: string
  /**
   * Returns a job with the same key that has not started yet, even if its payload differs. Default: false.
   */
  readonly coalesce?: boolean
  /**
   * The first job of a key wins: within the window, `enqueue` returns it instead of storing another, whatever
   * became of it.
   */
  readonly throttle?: ThrottleOptions
  /**
   * The last job of a key wins: until it starts, `enqueue` replaces its payload and options, and it runs when
   * the window has passed without another call.
   */
  readonly debounce?: DebounceOptions
  /** The user or account that the job belongs to; 1 to 256 characters. */
  readonly owner?: string
  /** The tenant that the job counts for; 1 to 128 letters, digits and punctuation marks. */
  readonly tenant?: string
  /**
   * The job fails if it still waits this long after it became due, 1s to ten years. A running attempt may
   * finish. Default: the `expiresAfter` of its type or queue; without one it waits for ever.
   */
  readonly expiresAfter?: Duration
  /** How many times the job may run, 1 to 1000. Default: the `attempts` of its type or queue. */
  readonly attempts?: number
  /** The waits between attempts. Default: the `backoff` of its type or queue. */
  readonly backoff?: Backoff
  /**
   * The span that the job follows from, as a header of W3C Trace Context, such as that of an HTTP request.
   * An active span of OpenTelemetry comes first.
   */
  readonly traceparent?: string
}

export interface EnqueueTogether {
  /**
   * Your own open transaction in the database of the store. The jobs exist once you commit. On the embedded store
   * it is a `DatabaseSync` of node:sqlite; the jobs are written when the call returns, and an invalid job throws
   * at once. On Postgres it is a transaction of pg, postgres.js, Drizzle, Kysely, Knex, TypeORM or Prisma; await
   * the call before you commit.
   */
  readonly tx?: object
}

export interface EnqueueOptions extends JobOptions, EnqueueTogether {}

const jobOptions: OptionNames<JobOptions> = {
  idempotencyKey: true,
  coalesce: true,
  throttle: true,
  debounce: true,
  owner: true,
  tenant: true,
  delay: true,
  runAt: true,
  expiresAfter: true,
  attempts: true,
  backoff: true,
  traceparent: true,
  ...jobLabelOptions,
}

export const togetherOptions: OptionNames<EnqueueTogether> = { tx: true }

export interface DeclaredJob {
  readonly queue: JobsQueue
  readonly type: JobType
  readonly clock: Clock
}

type JobSettings = Omit<NewJob, 'type' | 'payload'>

/** The options in the form of the port, without type and payload. */
export function jobSettings(
  options: JobOptions,
  { queue, type, clock }: DeclaredJob,
  prefix: string,
): JobSettings {
  refuseUnknownOptions(options, jobOptions, prefix)
  refuseOptions(options, prefix)
  const { owner, tenant, delay, runAt, attempts, backoff, traceparent } = options
  const { expiresAfter = expiresAfterOf(queue, type) } = options
  // Every job passes here, so skip options that are not given.
  const settings: { -readonly [Key in keyof JobSettings]: JobSettings[Key] } = {
    maxAttempts: attempts ?? attemptsOf(queue, type),
  }
  if (owner !== undefined) settings.owner = owner
  if (tenant !== undefined) settings.tenant = tenant
  if (delay !== undefined || runAt !== undefined) {
    Object.assign(settings, dueOf(options, clock, prefix))
  }
  if (expiresAfter !== undefined) {
    settings.expiresAfterMs = durationMs(expiresAfter, `${prefix}expiresAfter`, limits.jobExpiryMs)
  }
  if (backoff !== undefined) settings.backoff = backoffOf(backoff)
  if (hasLabels(options)) Object.assign(settings, givenLabels(options))
  if (traceparent !== undefined) {
    settings.systemAttributes = { traceparent }
    const { traceId = parseTraceparent(traceparent)?.traceId } = settings
    if (traceId !== undefined) settings.traceId = traceId
  }
  const idempotency = idempotencyOf(options, queue)
  if (idempotency !== undefined) settings.idempotency = idempotency
  const { throttle, debounce } = options
  if (throttle !== undefined) settings.throttle = throttleOf(throttle, `${prefix}throttle.`)
  if (debounce !== undefined) settings.debounce = debounceOf(debounce, `${prefix}debounce.`)
  return settings
}

function idempotencyOf(
  { idempotencyKey: key, coalesce = false }: JobOptions,
  { options: { idempotencyFor } }: JobsQueue,
): Idempotency | undefined {
  if (key === undefined) return undefined
  if (idempotencyFor === undefined) return { key, coalesce }
  return { key, lifetimeMs: durationMs(idempotencyFor), coalesce }
}

function refuseOptions(options: JobOptions, prefix: string): void {
  const { idempotencyKey, coalesce, attempts, backoff, traceparent } = options
  const violations: Violations = []
  const text = (field: string, value: unknown, length: Range): void => {
    if (value !== undefined) checkText(violations, `${prefix}${field}`, value, length)
  }
  text('idempotencyKey', idempotencyKey, limits.idempotencyKeyLength)
  text('owner', options.owner, limits.ownerLength)
  text('tenant', options.tenant, limits.groupLength)
  checkJobLabels(violations, prefix, options)
  if (attempts !== undefined) {
    checkRange(violations, `${prefix}attempts`, attempts, limits.jobAttempts)
  }
  if (backoff !== undefined) checkBackoff(violations, `${prefix}backoff`, backoff)
  if (traceparent !== undefined && parseTraceparent(String(traceparent)) === undefined) {
    const given = typeof traceparent === 'string' ? 'another text' : describeGiven(traceparent)
    const allowed = 'a header such as 00-<32 hex digits>-<16 hex digits>-01'
    violations.push({ field: `${prefix}traceparent`, given, allowed })
  }
  if (coalesce && idempotencyKey === undefined) {
    const allowed = 'a key, because coalesce needs one'
    violations.push({ field: `${prefix}idempotencyKey`, given: 'undefined', allowed })
  }
  if (options.throttle !== undefined || options.debounce !== undefined) {
    refuseTogether(violations, options, prefix)
  }
  if (violations.length > 0) throw MillraceError.invalid(violations)
}

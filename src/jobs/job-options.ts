/** The options of a job. */
import type { Idempotency, NewJob } from '../backends/job-store.ts'
import { checkBackoff } from '../contracts/check-controls.ts'
import {
  attemptsOf,
  defaultIdempotencyFor,
  type JobsQueue,
  type JobType,
} from '../contracts/jobs-declaration.ts'
import type { Backoff } from '../contracts/queue-declaration.ts'
import { backoffOf } from '../contracts/resolve-controls.ts'
import { checkRange, checkText, type Violations } from '../core/checks.ts'
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
import {
  type DebounceOptions,
  debounceOf,
  refuseTogether,
  type ThrottleOptions,
  throttleOf,
} from './job-windows.ts'

/** The options of one job. */
export interface JobOptions extends JobLabels {
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
  /** Overrides the queue's delay. At most 15m. */
  readonly delay?: Duration
  /** How many times the job may run, 1 to 1000. Default: the `attempts` of its type or queue. */
  readonly attempts?: number
  /** The waits between attempts. Default: the `backoff` of its type or queue. */
  readonly backoff?: Backoff
}

export interface EnqueueTogether {
  /**
   * Your own connection to the file of the store, with an open transaction: a `DatabaseSync` of node:sqlite.
   * The jobs are written when the call returns, and exist once you commit. An invalid job throws at once; the
   * promise does not reject.
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
  attempts: true,
  backoff: true,
  ...jobLabelOptions,
}

export const togetherOptions: OptionNames<EnqueueTogether> = { tx: true }

export interface DeclaredJob {
  readonly queue: JobsQueue
  readonly type: JobType
}

type JobSettings = Omit<NewJob, 'type' | 'payload'>

/** The options in the form of the port, without type and payload. */
export function jobSettings(
  options: JobOptions,
  { queue, type }: DeclaredJob,
  prefix: string,
): JobSettings {
  refuseUnknownOptions(options, jobOptions, prefix)
  refuseOptions(options, prefix)
  const { owner, tenant, delay, attempts, backoff } = options
  // Every job passes here, so skip options that are not given.
  const settings: { -readonly [Key in keyof JobSettings]: JobSettings[Key] } = {
    maxAttempts: attempts ?? attemptsOf(queue, type),
  }
  if (owner !== undefined) settings.owner = owner
  if (tenant !== undefined) settings.tenant = tenant
  if (delay !== undefined) settings.delayMs = durationMs(delay, `${prefix}delay`, limits.delayMs)
  if (backoff !== undefined) settings.backoff = backoffOf(backoff)
  if (hasLabels(options)) Object.assign(settings, givenLabels(options))
  const idempotency = idempotencyOf(options, queue)
  if (idempotency !== undefined) settings.idempotency = idempotency
  const { throttle, debounce } = options
  if (throttle !== undefined) settings.throttle = throttleOf(throttle, `${prefix}throttle.`)
  if (debounce !== undefined) settings.debounce = debounceOf(debounce, `${prefix}debounce.`)
  return settings
}

function idempotencyOf(
  { idempotencyKey: key, coalesce = false }: JobOptions,
  { options: { idempotencyFor = defaultIdempotencyFor } }: JobsQueue,
): Idempotency | undefined {
  return key === undefined ? undefined : { key, lifetimeMs: durationMs(idempotencyFor), coalesce }
}

function refuseOptions(options: JobOptions, prefix: string): void {
  const { idempotencyKey, coalesce, attempts, backoff } = options
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
  if (coalesce && idempotencyKey === undefined) {
    const allowed = 'a key, because coalesce needs one'
    violations.push({ field: `${prefix}idempotencyKey`, given: 'undefined', allowed })
  }
  if (options.throttle !== undefined || options.debounce !== undefined) {
    refuseTogether(violations, options, prefix)
  }
  if (violations.length > 0) throw MillraceError.invalid(violations)
}

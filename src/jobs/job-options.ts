/** What may be said about a job beside its payload. */
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

/** Of one job among several. */
export interface JobOptions extends JobLabels {
  /** Recognises a repeated enqueue of this queue, type and owner; 1 to 256 characters. */
  readonly idempotencyKey?: string
  /** Whatever its payload, let a job of this key that has not been started stand for this one. */
  readonly coalesce?: boolean
  /** Whose job it is: a user, an account; 1 to 256 characters. */
  readonly owner?: string
  /** The tenant that it counts for; 1 to 128 letters, digits and punctuation marks. */
  readonly tenant?: string
  /** Overrides the delay of the queue. At most 15m. */
  readonly delay?: Duration
  /** How often it is tried, 1 to 1000. Default: as its type or its queue says. */
  readonly attempts?: number
  /** The waits between attempts. Default: as its type or its queue says. */
  readonly backoff?: Backoff
}

export interface EnqueueTogether {
  /**
   * A connection of yours to the store's own file, with a transaction that you have begun: a
   * `DatabaseSync` of node:sqlite. The jobs are stored when the call returns, and exist once you
   * commit; what is refused is thrown at once, not through the promise.
   */
  readonly tx?: object
}

export interface EnqueueOptions extends JobOptions, EnqueueTogether {}

const jobOptions: OptionNames<JobOptions> = {
  idempotencyKey: true,
  coalesce: true,
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
  // Every job passes here: what is not given is not looked at twice.
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
    const allowed = 'a key, which says what is coalesced'
    violations.push({ field: `${prefix}idempotencyKey`, given: 'undefined', allowed })
  }
  if (violations.length > 0) throw MillraceError.invalid(violations)
}

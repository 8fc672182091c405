/** What may be said about a job beside its payload. */
import type { Idempotency, NewJob } from '../backends/job-store.ts'
import {
  defaultIdempotencyFor,
  defaultJobAttempts,
  type JobsQueue,
  type JobType,
} from '../contracts/jobs-declaration.ts'
import { checkLength, checkRange, describeGiven, type Violations } from '../core/checks.ts'
import { type Duration, durationMs } from '../core/durations.ts'
import { limits, type Range } from '../core/limits.ts'
import { MillraceError } from '../core/millrace-error.ts'

export interface EnqueueOptions {
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
  readonly tier?: string
  /** Ties it to what was going on when it was enqueued. */
  readonly traceId?: string
  readonly tags?: readonly string[]
}

export interface DeclaredJob {
  readonly queue: JobsQueue
  readonly type: JobType
}

/** The options in the form of the port, without type and payload. */
export function jobSettings(
  options: EnqueueOptions,
  { queue, type }: DeclaredJob,
  prefix: string,
): Omit<NewJob, 'type' | 'payload'> {
  refuseOptions(options, prefix)
  const { owner, tenant, delay, attempts, tier, traceId, tags } = options
  const idempotency = idempotencyOf(options, queue)
  return {
    maxAttempts: attempts ?? type.attempts ?? queue.options.attempts ?? defaultJobAttempts,
    ...(owner !== undefined && { owner }),
    ...(tenant !== undefined && { group: tenant }),
    ...(delay !== undefined && { delayMs: durationMs(delay, `${prefix}delay`) }),
    ...(tier !== undefined && { tier }),
    ...(traceId !== undefined && { traceId }),
    ...(tags !== undefined && { tags: [...tags] }),
    ...(idempotency !== undefined && { idempotency }),
  }
}

function idempotencyOf(
  { idempotencyKey: key, coalesce = false }: EnqueueOptions,
  { options: { idempotencyFor = defaultIdempotencyFor } }: JobsQueue,
): Idempotency | undefined {
  return key === undefined ? undefined : { key, lifetimeMs: durationMs(idempotencyFor), coalesce }
}

/** Of tiers, trace ids and tags, which the store only keeps. */
const labelLength: Range = { min: 1, max: 256, unit: 'characters' }

function refuseOptions(options: EnqueueOptions, prefix: string): void {
  const { idempotencyKey, coalesce, attempts, tags } = options
  const violations: Violations = []
  const texts: readonly (readonly [field: string, value: unknown, length: Range])[] = [
    ['idempotencyKey', idempotencyKey, limits.idempotencyKeyLength],
    ['owner', options.owner, limits.ownerLength],
    ['tenant', options.tenant, limits.groupLength],
    ['tier', options.tier, labelLength],
    ['traceId', options.traceId, labelLength],
  ]
  for (const [field, value, length] of texts) {
    if (value !== undefined) checkText(violations, `${prefix}${field}`, value, length)
  }
  if (attempts !== undefined) {
    checkRange(violations, `${prefix}attempts`, attempts, limits.jobAttempts)
  }
  if (coalesce && idempotencyKey === undefined) {
    const allowed = 'a key, which says what is coalesced'
    violations.push({ field: `${prefix}idempotencyKey`, given: 'undefined', allowed })
  }
  if (tags !== undefined) checkTags(violations, `${prefix}tags`, tags)
  if (violations.length > 0) throw MillraceError.invalid(violations)
}

function checkText(into: Violations, field: string, value: unknown, length: Range): void {
  checkLength(into, field, value, length)
  // The store would keep another text, and two owners or keys could become one.
  if (typeof value !== 'string' || (value.isWellFormed() && !value.includes('\0'))) return
  const allowed = 'text without NUL characters and lone surrogates'
  into.push({ field, given: 'such a text', allowed })
}

function checkTags(into: Violations, field: string, tags: unknown): void {
  if (!Array.isArray(tags)) {
    into.push({ field, given: describeGiven(tags), allowed: 'an array of texts' })
    return
  }
  for (const [index, tag] of tags.entries()) checkText(into, `${field}[${index}]`, tag, labelLength)
}

/**
 * Enqueues tracked jobs. A payload is encoded and checked against the contract of its type before anything is
 * stored, with the same checks as before the handler.
 */
import type { EnqueuedJob, JobStore, NewJob } from '../backends/job-store.ts'
import { jobContractOf } from '../contracts/contract-of.ts'
import {
  type JobInput,
  type JobsQueue,
  type JobType,
  type JobTypeName,
  jobTypeOf,
} from '../contracts/jobs-declaration.ts'
import { validateMaybeAsync, validateMessageSync } from '../contracts/validate-message.ts'
import { describeGiven } from '../core/checks.ts'
import { didYouMean } from '../core/did-you-mean.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { refuseUnknownOptions } from '../core/options.ts'
import type { Clock } from '../core/ports.ts'
import { inCallerNames } from '../core/rename-fields.ts'
import { allOrThrow } from '../producer/all-or-throw.ts'
import { encodeMessage } from '../producer/encode-message.ts'
import {
  type DeclaredJob,
  type EnqueueOptions,
  type EnqueueTogether,
  type JobOptions,
  jobSettings,
  togetherOptions,
} from './job-options.ts'

/** One of many jobs: its type, payload and options. */
export type JobEntry<Queue extends JobsQueue> = {
  readonly [Name in JobTypeName<Queue>]: JobOfType<Name, JobInput<Queue, Name>>
}[JobTypeName<Queue>]

export interface JobOfType<Name extends string, Payload> extends JobOptions {
  readonly type: Name
  readonly payload: Payload
}

/**
 * With a transaction of the caller on an embedded store, jobs are written when the call returns, and a refusal
 * is thrown synchronously. The caller must not commit after it, even without awaiting the promise.
 */
export interface JobProducer {
  enqueue(type: string, payload: unknown, options?: EnqueueOptions): Promise<EnqueuedJob>
  /** Stores all jobs or none. */
  enqueueMany(
    jobs: readonly JobOfType<string, unknown>[],
    options?: EnqueueTogether,
  ): Promise<readonly EnqueuedJob[]>
  /** Checks and encodes a job without storing it. */
  prepare(type: string, payload: unknown, options?: JobOptions): Promise<NewJob>
}

export interface JobProducerSetup {
  readonly store: Pick<JobStore, 'enqueue' | 'enqueueWithin'>
  /** The queue's name on the backend. */
  readonly name: string
  readonly declared: JobsQueue
  /** Decides whether a `runAt` lies in the past. */
  readonly clock: Clock
}

export function createJobProducer(setup: JobProducerSetup): JobProducer {
  const { store, name: queue } = setup
  type Entry = JobOfType<string, unknown>
  const storedNow = (
    jobs: readonly NewJob[],
    transaction: object,
  ): Promise<readonly EnqueuedJob[]> => {
    const renamed = (error: unknown): never => {
      throw inCallerNames(error, jobNames)
    }
    try {
      return store.enqueueWithin({ queue, jobs, transaction }).catch(renamed)
    } catch (error) {
      return renamed(error)
    }
  }
  const enqueueOne = async (entry: Entry): Promise<EnqueuedJob> => {
    const checked = prepareJob(setup, entry).check()
    const job = checked instanceof Promise ? await checked : checked
    try {
      return only(await store.enqueue({ queue, jobs: [job] }))
    } catch (error) {
      throw inCallerNames(error, jobNames)
    }
  }
  const enqueueAll = async (entries: readonly Entry[]): Promise<readonly EnqueuedJob[]> => {
    if (entries.length === 0) return []
    const checks = entries.map((entry, index) =>
      settledNow(() => named(index, (prefix) => prepareJob(setup, entry, prefix).check())),
    )
    const jobs = await allChecked(checks)
    try {
      return await store.enqueue({ queue, jobs })
    } catch (error) {
      throw inCallerNames(error, jobNames)
    }
  }
  const enqueueOneNow = (entry: Entry, transaction: object): Promise<EnqueuedJob> => {
    const job = prepareJob(setup, entry).checkNow()
    return storedNow([job], transaction).then(only)
  }
  const enqueueAllNow = (
    entries: readonly Entry[],
    transaction: object,
  ): Promise<readonly EnqueuedJob[]> => {
    if (entries.length === 0) return Promise.resolve([])
    const checks = entries.map((entry, index) =>
      settledNow(() => named(index, (prefix) => prepareJob(setup, entry, prefix).checkNow())),
    )
    return storedNow(allOrThrow(checks), transaction)
  }

  return {
    enqueue(type, payload, { tx, ...options } = {}) {
      const entry = { ...options, type, payload }
      return tx === undefined ? enqueueOne(entry) : enqueueOneNow(entry, tx)
    },
    enqueueMany: (entries, options = {}) => {
      refuseUnknownOptions(options, togetherOptions)
      const { tx } = options
      return tx === undefined ? enqueueAll(entries) : enqueueAllNow(entries, tx)
    },
    prepare: async (type, payload, options = {}) =>
      prepareJob(setup, { ...options, type, payload }).check(),
  }
}

/** The caller's option names by the field names of the store. */
const jobNames: ReadonlyMap<string, string> = new Map([
  ['delayMs', 'delay'],
  ['expiresAfterMs', 'expiresAfter'],
  ['group', 'tenant'],
  ['windowMs', 'window'],
  ['body', 'payload'],
])

/** A job whose payload is not checked yet. */
interface PreparedJob {
  check(): NewJob | Promise<NewJob>
  checkNow(): NewJob
}

/** A handler that copies such a payload key by key would change the prototype of its copy. */
const refusedKeys: readonly string[] = ['__proto__']
export const encodingRules: { readonly refusedKeys: readonly string[] } = { refusedKeys }

function prepareJob(
  { declared, clock }: JobProducerSetup,
  { type, payload, ...options }: JobOfType<string, unknown>,
  prefix = '',
): PreparedJob {
  const declaredType = requireType(declared, type, `${prefix}type`)
  const job: DeclaredJob = { queue: declared, type: declaredType, clock }
  const settings = jobSettings(options, job, prefix)
  const field = prefix === '' ? 'payload' : `${prefix}payload`
  const encoded = encodeMessage(payload, field, encodingRules)
  // Check what JSON preserves of the payload, because the handler gets only that.
  const value: unknown = JSON.parse(encoded)
  const contract = jobContractOf(declared, declaredType)
  const prepared: NewJob = Object.assign(settings, { type, payload: encoded })
  return {
    check: () => {
      const checked = validateMaybeAsync(contract, value, field)
      return checked instanceof Promise ? checked.then(() => prepared) : prepared
    },
    checkNow: () => {
      validateMessageSync(contract, value, field)
      return prepared
    },
  }
}

/**
 * Runs a step for one of many jobs. Field names are only needed in errors, so they are built in a second run
 * after a failure.
 */
function named<Value>(index: number, run: (prefix: string) => Value): Value {
  const again = (): Value => run(`jobs[${index}].`)
  try {
    const first = run('')
    // Rejects like it throws: the second run fails in the same way, with the field names.
    return first instanceof Promise ? (first.catch(again) as Value) : first
  } catch {
    return again()
  }
}

/** Does not await results that are already known. */
async function allChecked(
  checks: readonly PromiseSettledResult<NewJob | Promise<NewJob>>[],
): Promise<readonly NewJob[]> {
  const isAtOnce = checks.every(
    (check): check is PromiseSettledResult<NewJob> =>
      check.status === 'rejected' || !(check.value instanceof Promise),
  )
  if (isAtOnce) return allOrThrow(checks as readonly PromiseSettledResult<NewJob>[])
  const all = checks.map((check) =>
    check.status === 'rejected' ? Promise.reject(check.reason) : check.value,
  )
  return allOrThrow(await Promise.allSettled(all))
}

function settledNow<Value>(run: () => Value): PromiseSettledResult<Value> {
  try {
    return { status: 'fulfilled', value: run() }
  } catch (reason) {
    return { status: 'rejected', reason }
  }
}

function only([enqueued]: readonly EnqueuedJob[]): EnqueuedJob {
  // A store must return a result for each job, so this one violates the port.
  if (enqueued === undefined) throw new MillraceError('store_failed')
  return enqueued
}

/** Throws `invalid_argument`, with the types of the queue. */
export function requireType(declared: JobsQueue, name: string, field: string): JobType {
  const type = jobTypeOf(declared, name)
  if (type !== undefined) return type
  const known = Object.keys(declared.options.types)
  const hint = typeof name === 'string' ? didYouMean(name, known) : ''
  const allowed = `one of ${known.join(', ')}${hint}`
  throw MillraceError.invalid([{ field, given: describeGiven(name), allowed }])
}

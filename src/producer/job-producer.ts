/**
 * Enqueues tracked jobs. A payload is encoded and checked against the contract of its type before
 * anything is stored, by the rules of messages: what passes here passes before the handler.
 */
import type { EnqueuedJob, JobStore, NewJob } from '../backends/job-store.ts'
import { didYouMean } from '../contracts/did-you-mean.ts'
import {
  type JobInput,
  type JobsQueue,
  type JobTypeName,
  jobTypeOf,
} from '../contracts/jobs-declaration.ts'
import { validateMessage, validateMessageNow } from '../contracts/validate-message.ts'
import { describeGiven } from '../core/checks.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { allOrThrow } from './all-or-throw.ts'
import { encodeMessage } from './encode-message.ts'
import {
  type EnqueueOptions,
  type EnqueueTogether,
  type JobOptions,
  jobSettings,
} from './job-options.ts'

/** One job of many: its type, the payload that belongs to it, and its options. */
export type JobEntry<Queue extends JobsQueue> = {
  readonly [Name in JobTypeName<Queue>]: JobOfType<Name, JobInput<Queue, Name>>
}[JobTypeName<Queue>]

export interface JobOfType<Name extends string, Payload> extends JobOptions {
  readonly type: Name
  readonly payload: Payload
}

/**
 * With a transaction of the caller, jobs are stored when a call returns, and what is refused is
 * thrown there and then: the caller must not go on to its commit, whether it waits for the promise
 * or not.
 */
export interface JobProducer {
  enqueue(type: string, payload: unknown, options?: EnqueueOptions): Promise<EnqueuedJob>
  /** Stores all jobs or none. */
  enqueueMany(
    jobs: readonly JobOfType<string, unknown>[],
    options?: EnqueueTogether,
  ): Promise<readonly EnqueuedJob[]>
  /** Checks and encodes a job without storing it. */
  draft(type: string, payload: unknown, options?: JobOptions): Promise<NewJob>
}

export interface JobProducerSetup {
  readonly store: Pick<JobStore, 'enqueue' | 'enqueueWithin'>
  /** The queue's name on the backend. */
  readonly name: string
  readonly declared: JobsQueue
}

export function createJobProducer({ store, name: queue, declared }: JobProducerSetup): JobProducer {
  type Entry = JobOfType<string, unknown>
  const draftAt = (entry: Entry, index: number): JobDraft =>
    draftJob(declared, entry, `jobs[${index}].`)

  const enqueueOne = async (entry: Entry): Promise<EnqueuedJob> => {
    const job = await draftJob(declared, entry).check()
    return only(await store.enqueue({ queue, jobs: [job] }))
  }
  const enqueueAll = async (entries: readonly Entry[]): Promise<readonly EnqueuedJob[]> => {
    if (entries.length === 0) return []
    const checks = entries.map(async (entry, index) => draftAt(entry, index).check())
    return store.enqueue({ queue, jobs: allOrThrow(await Promise.allSettled(checks)) })
  }
  const enqueueOneNow = (entry: Entry, transaction: object): EnqueuedJob => {
    const job = draftJob(declared, entry).checkNow()
    return only(store.enqueueWithin({ queue, jobs: [job], transaction }))
  }
  const enqueueAllNow = (
    entries: readonly Entry[],
    transaction: object,
  ): readonly EnqueuedJob[] => {
    if (entries.length === 0) return []
    const checks = entries.map((entry, index) => settledNow(() => draftAt(entry, index).checkNow()))
    return store.enqueueWithin({ queue, jobs: allOrThrow(checks), transaction })
  }

  return {
    enqueue(type, payload, { tx, ...options } = {}) {
      const entry = { ...options, type, payload }
      return tx === undefined ? enqueueOne(entry) : Promise.resolve(enqueueOneNow(entry, tx))
    },
    enqueueMany: (entries, { tx } = {}) =>
      tx === undefined ? enqueueAll(entries) : Promise.resolve(enqueueAllNow(entries, tx)),
    draft: async (type, payload, options = {}) =>
      draftJob(declared, { ...options, type, payload }).check(),
  }
}

/** A job whose payload is still to be checked against its contract. */
interface JobDraft {
  check(): Promise<NewJob>
  checkNow(): NewJob
}

/** A handler that copies such a payload key by key would change the prototype of its copy. */
const refusedKeys: readonly string[] = ['__proto__']

function draftJob(
  declared: JobsQueue,
  { type, payload, ...options }: JobOfType<string, unknown>,
  prefix = '',
): JobDraft {
  const declaredType = jobTypeOf(declared, type)
  if (declaredType === undefined) throw unknownType(declared, type, `${prefix}type`)
  const settings = jobSettings(options, { queue: declared, type: declaredType }, prefix)
  const field = `${prefix}payload`
  const encoded = encodeMessage(payload, field, { refusedKeys })
  // The handler is given what JSON leaves of the payload, so that is what has to fit.
  const value: unknown = JSON.parse(encoded)
  const job = { ...settings, type, payload: encoded }
  return {
    check: async () => {
      await validateMessage(declaredType.payload, value, field)
      return job
    },
    checkNow: () => {
      validateMessageNow(declaredType.payload, value, field)
      return job
    },
  }
}

function settledNow<Value>(run: () => Value): PromiseSettledResult<Value> {
  try {
    return { status: 'fulfilled', value: run() }
  } catch (reason) {
    return { status: 'rejected', reason }
  }
}

function only([enqueued]: readonly EnqueuedJob[]): EnqueuedJob {
  // A store answers each job, so this is a store that breaks the port.
  if (enqueued === undefined) throw new MillraceError('store_failed')
  return enqueued
}

function unknownType(declared: JobsQueue, type: unknown, field: string): MillraceError {
  const known = Object.keys(declared.options.types)
  const hint = typeof type === 'string' ? didYouMean(type, known) : ''
  const allowed = `one of ${known.join(', ')}${hint}`
  return MillraceError.invalid([{ field, given: describeGiven(type), allowed }])
}

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
import { validateMessage } from '../contracts/validate-message.ts'
import { describeGiven } from '../core/checks.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { allOrThrow } from './all-or-throw.ts'
import { encodeMessage } from './encode-message.ts'
import { type EnqueueOptions, jobSettings } from './job-options.ts'

/** One job of many: its type, the payload that belongs to it, and its options. */
export type JobEntry<Queue extends JobsQueue> = {
  readonly [Name in JobTypeName<Queue>]: JobOfType<Name, JobInput<Queue, Name>>
}[JobTypeName<Queue>]

export interface JobOfType<Name extends string, Payload> extends EnqueueOptions {
  readonly type: Name
  readonly payload: Payload
}

export interface JobProducer {
  enqueue(type: string, payload: unknown, options?: EnqueueOptions): Promise<EnqueuedJob>
  /** Stores all jobs or none. */
  enqueueMany(jobs: readonly JobOfType<string, unknown>[]): Promise<readonly EnqueuedJob[]>
}

export interface JobProducerSetup {
  readonly store: Pick<JobStore, 'enqueue'>
  /** The queue's name on the backend. */
  readonly name: string
  readonly declared: JobsQueue
}

/** A handler that copies such a payload key by key would change the prototype of its copy. */
const refusedKeys: readonly string[] = ['__proto__']

export function createJobProducer(setup: JobProducerSetup): JobProducer {
  const { store, name, declared } = setup
  const prepare = async (
    { type, payload, ...options }: JobOfType<string, unknown>,
    prefix = '',
  ): Promise<NewJob> => {
    const declaredType = jobTypeOf(declared, type)
    if (declaredType === undefined) throw unknownType(declared, type, `${prefix}type`)
    const settings = jobSettings(options, { queue: declared, type: declaredType }, prefix)
    const field = `${prefix}payload`
    const encoded = encodeMessage(payload, field, { refusedKeys })
    // The handler is given what JSON leaves of the payload, so that is what has to fit.
    await validateMessage(declaredType.payload, JSON.parse(encoded), field)
    return { ...settings, type, payload: encoded }
  }

  return {
    async enqueue(type, payload, options = {}) {
      const job = await prepare({ ...options, type, payload })
      const [enqueued] = await store.enqueue({ queue: name, jobs: [job] })
      // A store answers each job, so this is a store that breaks the port.
      if (enqueued === undefined) throw new MillraceError('store_failed')
      return enqueued
    },
    async enqueueMany(jobs) {
      if (jobs.length === 0) return []
      const prepared = await Promise.allSettled(
        jobs.map((job, index) => prepare(job, `jobs[${index}].`)),
      )
      return store.enqueue({ queue: name, jobs: allOrThrow(prepared) })
    },
  }
}

function unknownType(declared: JobsQueue, type: unknown, field: string): MillraceError {
  const known = Object.keys(declared.options.types)
  const hint = typeof type === 'string' ? didYouMean(type, known) : ''
  const allowed = `one of ${known.join(', ')}${hint}`
  return MillraceError.invalid([{ field, given: describeGiven(type), allowed }])
}

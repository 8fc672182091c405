/**
 * The tracked jobs of an open app: enqueue them with the types of its declaration, then follow them by id.
 */

import type { Backend, Page } from '../backends/backend.ts'
import type { EnqueuedJob, JobAttempt, JobLogLine, JobStore } from '../backends/job-store.ts'
import type { DeclaredQueues } from '../contracts/define-app.ts'
import {
  isJobsQueue,
  type JobInput,
  type JobsQueue,
  type JobTypeName,
} from '../contracts/jobs-declaration.ts'
import type { NamedQueue } from '../contracts/resolve-names.ts'
import {
  type AnyJobType,
  type QueuesWith,
  type TieredApp,
  tierByType,
  tierFor,
} from '../contracts/tier-declaration.ts'
import { checkOneOf, describeGiven, type Violations } from '../core/checks.ts'
import { type DueOptions, dueOf } from '../core/due-options.ts'
import { errorSummary } from '../core/error-summary.ts'
import { type JobStatus, jobStatuses } from '../core/job-state.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import type { Ports } from '../core/ports.ts'
import { requireArray } from '../core/require-array.ts'
import { supported } from '../core/supported.ts'
import { type Logger, silentLogger } from '../observability/logger.ts'
import { logEnqueued } from '../observability/transition-log.ts'
import { type FinishedJob, type Job, jobFrom } from './job.ts'
import type { EnqueueOptions, EnqueueTogether, JobOptions } from './job-options.ts'
import {
  createJobProducer,
  type JobEntry,
  type JobOfType,
  type JobProducer,
} from './job-producer.ts'
import { type WaitOptions, waitForJob } from './wait-for-job.ts'

/** The keys of the queues declared with `jobs`. */
export type JobsKey<Queues extends DeclaredQueues> = {
  [Key in keyof Queues]: Queues[Key] extends JobsQueue ? Key : never
}[keyof Queues] &
  string

export interface ListJobsOptions<TypeName extends string = string> {
  readonly status?: JobStatus
  readonly type?: TypeName
  readonly owner?: string
  /** Jobs per page, 1 to 1000. Default 10. */
  readonly limit?: number
  /** The `next` of the previous page. */
  readonly after?: string
}

export interface AppJobs<Queues extends DeclaredQueues = DeclaredQueues> {
  /** Stores a job, or returns the existing one with its idempotency key. */
  enqueue<Key extends JobsKey<Queues>, Name extends JobTypeName<Queues[Key]>>(
    queue: Key,
    type: Name,
    payload: JobInput<Queues[Key], Name>,
    options?: EnqueueOptions,
  ): Promise<EnqueuedJob>
  /** The same in the queue of a tier: the tier in the options, or the default tier of the job type. */
  enqueueByTier<Name extends AnyJobType<Queues>>(
    type: Name,
    payload: JobInput<QueuesWith<Queues, Name>, Name>,
    options?: EnqueueOptions,
  ): Promise<EnqueuedJob>
  /** Stores all jobs or none. */
  enqueueMany<Key extends JobsKey<Queues>>(
    queue: Key,
    jobs: readonly JobEntry<Extract<Queues[Key], JobsQueue>>[],
    options?: EnqueueTogether,
  ): Promise<readonly EnqueuedJob[]>
  /** Undefined if the job does not exist or was removed. */
  get(id: string): Promise<Job | undefined>
  /** Newest first. With filters, a page may be short or even empty and still have a `next`. */
  list<Key extends JobsKey<Queues>>(
    queue: Key,
    options?: ListJobsOptions<JobTypeName<Queues[Key]>>,
  ): Promise<Page<Job>>
  /** How each attempt ended, oldest first. */
  attempts(id: string): Promise<readonly JobAttempt[]>
  /** The lines that its handlers have logged with `context.log`, in order. */
  logs(id: string): Promise<readonly JobLogLine[]>
  /** Cancels a job that has not finished, even while it runs. */
  cancel(id: string): Promise<Job>
  /** Enqueues a failed or cancelled job again, as a new job. */
  retry(id: string): Promise<EnqueuedJob>
  /**
   * Lets a job that waits be due after a delay, counted from now, or at a time. Its `expiresAfter` counts
   * from then on. Rejects with `job_running` while the job runs, and with `job_finished` after that.
   */
  reschedule(id: string, when: DueOptions): Promise<Job>
  /** Lets a job that waits for its time or its retry be due now. Rejects like `reschedule`. */
  promote(id: string): Promise<Job>
  /**
   * Resolves with the job when it has completed, failed or was cancelled. Rejects with `wait_timed_out` after
   * the timeout.
   */
  waitFor(id: string, options?: WaitOptions): Promise<FinishedJob>
}

export interface AppJobsSetup {
  readonly app: TieredApp
  readonly backend: Pick<Backend, 'jobs'>
  readonly log: Logger
  readonly ports: Pick<Ports, 'clock' | 'timers'>
  readonly queues: readonly NamedQueue[]
}

const listOptions: OptionNames<ListJobsOptions> = {
  status: true,
  type: true,
  owner: true,
  limit: true,
  after: true,
}

const dueOptions: OptionNames<DueOptions> = { delay: true, runAt: true }

interface NamedJobsQueue extends NamedQueue {
  readonly declared: JobsQueue
}

export function createAppJobs<Queues extends DeclaredQueues>(setup: AppJobsSetup): AppJobs<Queues> {
  const { app, backend, ports, queues, log } = setup
  // An app with jobs is not opened on a backend without them. An app without jobs may still read one by id.
  const stored = (): JobStore => supported(backend.jobs)
  const named = (key: string): NamedJobsQueue => {
    const queue = queues.find((one) => one.key === key)
    if (queue === undefined || !isJobsQueue(queue.declared)) throw noJobsQueue(key, queues)
    return { ...queue, declared: queue.declared }
  }
  const producers = new Map<string, JobProducer>()
  const producerOf = (key: string): JobProducer => {
    let producer = producers.get(key)
    if (producer === undefined) {
      const { name, declared } = named(key)
      producer = createJobProducer({ store: stored(), name, declared, clock: ports.clock })
      producers.set(key, producer)
    }
    return producer
  }
  const withTier = <Options extends JobOptions>(
    queue: string,
    type: string,
    options: Options,
  ): Options => {
    const tier = tierFor(app, { queue, type, tier: options.tier })
    return tier === undefined ? options : { ...options, tier }
  }
  const jobs: UntypedJobs = {
    enqueue: (queue, type, payload, options = {}) => {
      const enqueued = promised(options, () =>
        producerOf(queue).enqueue(type, payload, withTier(queue, type, options)),
      )
      if (log === silentLogger) return enqueued
      const storing = enqueued.then((one) => [one])
      return logged(log, queue, [{ type, ...options }], storing).then(onlyOne)
    },
    enqueueByTier: (type, payload, options = {}) =>
      promised(options, () => {
        const { queue, tier } = tierByType(app, type, options.tier)
        return jobs.enqueue(queue, type, payload, { ...options, tier })
      }),
    enqueueMany: (queue, entries, options) => {
      const enqueued = promised(options, () => {
        requireArray('jobs', entries)
        const tiered = entries.map((entry) => withTier(queue, entry.type, entry))
        return producerOf(queue).enqueueMany(tiered, options)
      })
      return log === silentLogger ? enqueued : logged(log, queue, entries, enqueued)
    },
    get: async (id) => {
      const record = await stored().read({ id })
      return record && jobFrom(record)
    },
    list: async (queue, options = {}) => {
      refuseUnknownOptions(options, listOptions)
      const { limit = 10, ...filters } = options
      refuseStatus(filters.status)
      const page = await stored().list({ ...filters, limit, queue: named(queue).name })
      return { ...page, items: page.items.map(jobFrom) }
    },
    attempts: async (id) => stored().attempts({ id }),
    logs: async (id) => stored().logs({ id }),
    cancel: async (id) => jobFrom(await stored().cancel({ id })),
    retry: async (id) => stored().retry({ id }),
    reschedule: async (id, when) => {
      refuseUnknownOptions(when, dueOptions)
      const due = dueOf(when, ports.clock)
      if (due.delayMs === undefined && due.runAt === undefined) throw noTime()
      return jobFrom(await stored().reschedule({ id, ...due }))
    },
    promote: async (id) => jobFrom(await stored().promote({ id })),
    waitFor: async (id, options) => waitForJob({ store: stored(), ports }, id, options),
  }
  // Keys and types are those of this app. The cast only adds their declared types.
  return Object.freeze(jobs) as AppJobs<Queues>
}

/** The same without the types of an app. */
export interface UntypedJobs
  extends Omit<AppJobs, 'enqueue' | 'enqueueByTier' | 'enqueueMany' | 'list'> {
  enqueueByTier(type: string, payload: unknown, options?: EnqueueOptions): Promise<EnqueuedJob>
  enqueue(
    queue: string,
    type: string,
    payload: unknown,
    options?: EnqueueOptions,
  ): Promise<EnqueuedJob>
  enqueueMany(
    queue: string,
    jobs: readonly JobOfType<string, unknown>[],
    options?: EnqueueTogether,
  ): Promise<readonly EnqueuedJob[]>
  list(queue: string, options?: ListJobsOptions): Promise<Page<Job>>
}

function onlyOne([enqueued]: readonly EnqueuedJob[]): EnqueuedJob {
  // A store must return a result for each job, so this one violates the port.
  if (enqueued === undefined) throw new MillraceError('store_failed')
  return enqueued
}

interface LoggedJob {
  readonly type: string
  readonly traceId?: string
}

/** Logs one line per enqueued job, or one for the failure of all. */
async function logged(
  log: Logger,
  queue: string,
  jobs: readonly LoggedJob[],
  storing: Promise<readonly EnqueuedJob[]>,
): Promise<readonly EnqueuedJob[]> {
  const enqueued = await storing.catch((error: unknown) => {
    // An unknown queue name is the caller's text, so it may be long.
    const fields = { queue: String(queue).slice(0, 80), error: safeSummary(error) }
    log.warn(fields, 'job not enqueued')
    throw error
  })
  for (const [index, job] of enqueued.entries()) {
    const { type, traceId } = jobs[index] ?? {}
    logEnqueued(log, { queue, type, traceId, ...job })
  }
  return enqueued
}

/** Millrace errors quote no payload, but errors thrown by a schema may. */
function safeSummary(error: unknown): string {
  if (error instanceof MillraceError) return errorSummary(error)
  return `${error instanceof Error ? error.name : 'Something'} was thrown by the contract.`
}

/** Turns an exception into a rejection. With `tx` it throws, because the caller must not commit. */
function promised<T>({ tx }: EnqueueTogether = {}, run: () => Promise<T>): Promise<T> {
  if (tx !== undefined) return run()
  try {
    return run()
  } catch (error) {
    return Promise.reject(error)
  }
}

/** An unknown status would return an empty list, which looks like good news. */
function refuseStatus(status: JobStatus | undefined): void {
  if (status === undefined) return
  const violations: Violations = []
  checkOneOf(violations, 'status', status, jobStatuses)
  if (violations.length > 0) throw MillraceError.invalid(violations)
}

function noTime(): MillraceError {
  return MillraceError.invalid([{ field: 'runAt', given: 'none', allowed: 'runAt or delay' }])
}

function noJobsQueue(key: unknown, queues: readonly NamedQueue[]): MillraceError {
  const known = queues.filter(({ declared }) => isJobsQueue(declared)).map((queue) => queue.key)
  const allowed =
    known.length === 0 ? 'an app that declares jobs({...})' : `one of ${known.join(', ')}`
  return MillraceError.invalid([{ field: 'queue', given: describeGiven(key), allowed }])
}

/** What all routes about jobs share: the open app, seen without the types of its declaration. */
import { type JobsQueue, jobsQueuesOf } from '../../contracts/jobs-declaration.ts'
import { pause } from '../../core/pause.ts'
import type { UntypedJobs } from '../../jobs/app-jobs.ts'
import type { Job } from '../../jobs/job.ts'
import type { MetricReader } from '../../operations/metrics/metrics.ts'
import type { Switches } from '../../operations/switches.ts'
import type { ServedApp } from '../services.ts'
import type { ApiSettings } from './api-options.ts'
import { ApiProblem } from './api-problem.ts'
import { type Caller, maySee } from './caller.ts'
import { appInboxes, type InboxContext } from './inbox-context.ts'

export interface KnownQueue {
  readonly key: string
  /** On the backend. */
  readonly name: string
  readonly declared: JobsQueue
}

export interface JobsContext {
  /** Names and types come from requests, and are checked as they are used. */
  readonly jobs: UntypedJobs
  readonly queues: readonly KnownQueue[]
  readonly switches: Switches
  readonly inboxes: InboxContext
  readonly metrics: MetricReader
  /** The keys of all queues: a switch may also mean one that takes no jobs. */
  readonly queueKeys: readonly string[]
  readonly settings: ApiSettings
}

export function jobsContext(mill: ServedApp, settings: ApiSettings): JobsContext {
  return {
    // The same object, without the types of the declaration.
    jobs: mill.jobs as UntypedJobs,
    queues: Object.entries(jobsQueuesOf(mill.app.queues)).map(([key, declared]) => ({
      key,
      name: mill.queues[key]?.name ?? key,
      declared,
    })),
    switches: mill.switches,
    inboxes: appInboxes(mill, settings),
    metrics: mill.metrics,
    queueKeys: Object.keys(mill.app.queues),
    settings,
  }
}

/** By its key in the app, or by its name on the backend. */
export function findQueue({ queues }: JobsContext, text: string): KnownQueue | undefined {
  return queues.find(({ key }) => key === text) ?? queues.find(({ name }) => name === text)
}

/** So long a missing job takes at least, so that the time does not tell it from a foreign one. */
const missingMs = 10

/** The job, for those who may see it; anybody else learns the same as about one that is missing. */
export async function visibleJob(context: JobsContext, caller: Caller, id: string): Promise<Job> {
  const { clock, timers } = context.settings.ports
  const startedAt = clock.monotonic()
  const job = await context.jobs.get(id)
  // Other apps may keep their jobs in the same store.
  const isOfApp = context.queues.some(({ name }) => name === job?.queue)
  if (job !== undefined && isOfApp && maySee(caller, job)) return job
  await pause(timers, Math.max(0, startedAt + missingMs - clock.monotonic()))
  throw new ApiProblem('job_not_found')
}

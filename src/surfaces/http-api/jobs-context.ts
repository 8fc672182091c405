/** Shared by all job routes: the open app without the types of its declaration. */
import { type JobsQueue, jobsQueuesOf } from '../../contracts/jobs-declaration.ts'
import { pause } from '../../core/pause.ts'
import type { UntypedJobs } from '../../jobs/app-jobs.ts'
import type { Job } from '../../jobs/job.ts'
import type { MetricReader } from '../../operations/metrics/metrics.ts'
import type { Switches } from '../../operations/switches.ts'
import type { JobReports } from '../../worker/job-reports.ts'
import type { ServedApp } from '../services.ts'
import type { ApiSettings } from './api-options.ts'
import { ApiProblem } from './api-problem.ts'
import { type Caller, maySee } from './caller.ts'
import { appInboxes, type InboxContext } from './inbox-context.ts'

export interface KnownQueue {
  readonly key: string
  /** The name in the store. */
  readonly name: string
  readonly declared: JobsQueue
}

export interface JobsContext {
  /** Untyped, because names come from requests. They are checked on use. */
  readonly jobs: UntypedJobs
  readonly reports: JobReports
  readonly queues: readonly KnownQueue[]
  readonly switches: Switches
  readonly inboxes: InboxContext
  readonly metrics: MetricReader
  /** The keys of all queues. A switch may also name a queue without jobs. */
  readonly queueKeys: readonly string[]
  readonly settings: ApiSettings
}

export function jobsContext(mill: ServedApp, settings: ApiSettings): JobsContext {
  return {
    jobs: mill.jobs as UntypedJobs,
    reports: mill.reports,
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

/** Finds a queue by its key in the app, or by its name in the store. */
export function findQueue({ queues }: JobsContext, text: string): KnownQueue | undefined {
  return queues.find(({ key }) => key === text) ?? queues.find(({ name }) => name === text)
}

/** Minimum response time for a missing job, so that the time does not reveal jobs of other owners. */
const missingMs = 10

/** The job, if the caller may see it. Other callers get the same error as for a missing job. */
export async function visibleJob(context: JobsContext, caller: Caller, id: string): Promise<Job> {
  const { clock, timers } = context.settings.ports
  const startedAt = clock.monotonic()
  const job = await context.jobs.get(id)
  // The store may also contain jobs of other apps.
  const isOfApp = context.queues.some(({ name }) => name === job?.queue)
  if (job !== undefined && isOfApp && maySee(caller, job)) return job
  await pause(timers, Math.max(0, startedAt + missingMs - clock.monotonic()))
  throw new ApiProblem('job_not_found')
}

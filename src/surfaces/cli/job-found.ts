/** Jobs that commands name by their id. */
import type { JobRecord, JobStore } from '../../backends/job-store.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { jobInsideView, jobStateView } from '../../operations/job-view.ts'
import type { ListedJob } from './job-sheet.ts'

export async function requireJob(jobs: JobStore, id: string): Promise<JobRecord> {
  const job = await jobs.read({ id })
  if (job === undefined) throw new MillraceError('job_not_found')
  return job
}

/** A job without its payload and result. */
export function listedView(job: JobRecord): ListedJob {
  return { ...jobStateView(job), ...jobInsideView(job), error_message: job.error }
}

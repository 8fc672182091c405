/** Reports the progress of a job, and stores the lines that its handler has logged so far. */
import type { Backend } from '../backends/backend.ts'
import type { ProgressResult, ReportProgress } from '../backends/job-store.ts'
import type { Claimed } from './claims-ahead.ts'
import type { AttemptContext } from './handler-context.ts'
import type { LeaseKeeper } from './lease-keeper.ts'

export interface ProgressSetup {
  readonly backend: Pick<Backend, 'jobs'>
  readonly keeper: LeaseKeeper
}

export async function reportProgress(
  setup: ProgressSetup,
  { delivery, lease }: Claimed,
  context: AttemptContext,
  progress: number,
): Promise<void> {
  const { jobs } = setup.backend
  if (delivery.job === null || jobs === null) return
  const { queue, receipt } = lease
  const noted = await withLines(context, (logs) =>
    jobs.reportProgress({ queue, receipt, progress, ...logs }),
  )
  if (noted.status === 'refused') throw noted.error
  if (noted.status === 'noted') return
  // Aborts a handler without a lease here, before the next check of the keeper.
  const job = await jobs.read({ id: context.id })
  setup.keeper.lose(lease, job?.status === 'cancelled' ? 'cancelled' : 'lease_lost')
}

/** Lines that could not be stored wait for the next report, or for the settlement. */
async function withLines(
  { lines }: AttemptContext,
  report: (logs: Pick<ReportProgress, 'logs'>) => Promise<ProgressResult>,
): Promise<ProgressResult> {
  const logs = lines?.take()
  if (logs === undefined) return report({})
  try {
    return await report({ logs })
  } catch (error) {
    lines?.putBack(logs)
    throw error
  }
}

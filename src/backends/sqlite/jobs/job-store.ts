/** The store of jobs. Reads first end what is due, so that they show what has happened by now. */

import type { JobStore } from '../../job-store.ts'
import type { CallerTransactions } from '../driver/caller-transactions.ts'
import { readNow } from '../driver/operations.ts'
import type { StoreView } from '../driver/transaction.ts'
import type { Writer } from '../driver/writer.ts'
import { endDueForRead, hasDue } from '../messages/elapsed-time.ts'
import { readLogs } from './attempt-details.ts'
import { enqueueJobs } from './enqueueing.ts'
import { cancelJob, reportProgress, retryJob } from './job-control.ts'
import { endDueJob, isJobDue } from './job-elapsed-time.ts'
import { listJobs } from './job-listing.ts'
import { readAttempts, readJob, readReceipt } from './job-reading.ts'
import { promoteJob, rescheduleJob } from './rescheduling.ts'
import { stuckJobs } from './stuck-jobs.ts'

export function jobStore(writer: Writer, callers: CallerTransactions): JobStore {
  async function readUpToDate<T>(id: string, read: (view: StoreView) => T): Promise<T> {
    const seen = await readNow(writer, (view) =>
      isJobDue(view, id) ? undefined : { answer: read(view) },
    )
    if (seen !== undefined) return seen.answer
    await writer.submit((tx) => endDueJob(tx, id))
    return readNow(writer, read)
  }
  return {
    enqueue: (request) => writer.add((tx) => enqueueJobs(tx, request)),
    enqueueWithin: ({ transaction, ...request }) =>
      callers.run(transaction, (tx) => enqueueJobs(tx, request)),
    read: ({ id }) => readUpToDate(id, (view) => readJob(view, id)),
    /** Purged jobs are listed once the sweep has removed them. */
    list: async (request) => {
      const { queue } = request
      const isLate = await readNow(writer, (view) => hasDue(view, view.queue(queue)))
      if (isLate) await writer.submit((tx) => endDueForRead(tx, tx.queue(queue)))
      return readNow(writer, (view) => listJobs(view, request))
    },
    cancel: ({ id }) => writer.submit((tx) => cancelJob(tx, id)),
    retry: (request) => writer.add((tx) => retryJob(tx, request)),
    reschedule: (request) => writer.submit((tx) => rescheduleJob(tx, request)),
    promote: ({ id }) => writer.submit((tx) => promoteJob(tx, id)),
    attempts: ({ id }) => readUpToDate(id, (view) => readAttempts(view, id)),
    logs: ({ id }) => readUpToDate(id, (view) => readLogs(view, id)),
    stuck: (request) => readNow(writer, (view) => stuckJobs(view, request)),
    reportProgress: (request) => writer.submit((tx) => reportProgress(tx, request)),
    readReceipt: (request) => readNow(writer, (view) => readReceipt(view, request)),
  }
}

/** The store of jobs. Reads first end what is due, so that they show what has happened by now. */

import type { Page } from '../../backends/backend.ts'
import type { JobRecord, JobStore, ListJobs } from '../../backends/job-store.ts'
import type { Database } from '../database.ts'
import { endDueForRead, hasDue } from '../messages/elapsed-time.ts'
import type { Step } from '../steps.ts'
import type { View } from '../transaction.ts'
import { readLogs } from './attempt-details.ts'
import { enqueueJobs } from './enqueueing.ts'
import { cancelJob, reportProgress, retryJob } from './job-control.ts'
import { endDueJob, isJobDue } from './job-elapsed-time.ts'
import { listJobs } from './job-listing.ts'
import { readAttempts, readJob, readReceipt } from './job-reading.ts'
import { promoteJob, rescheduleJob } from './rescheduling.ts'
import { stuckJobs } from './stuck-jobs.ts'

export function jobStore(database: Database): JobStore {
  return {
    enqueue: (request) => database.add((tx) => enqueueJobs(tx, request)),
    enqueueWithin: ({ transaction, ...request }) =>
      database.within(transaction, (tx) => enqueueJobs(tx, request)),
    read: ({ id }) => readUpToDate(database, id, (view) => readJob(view, id)),
    list: (request) => listUpToDate(database, request),
    cancel: ({ id }) => database.change((tx) => cancelJob(tx, id)),
    retry: (request) => database.add((tx) => retryJob(tx, request)),
    reschedule: (request) => database.change((tx) => rescheduleJob(tx, request)),
    promote: ({ id }) => database.change((tx) => promoteJob(tx, id)),
    attempts: ({ id }) => readUpToDate(database, id, (view) => readAttempts(view, id)),
    logs: ({ id }) => readUpToDate(database, id, (view) => readLogs(view, id)),
    stuck: (request) => database.read((view) => stuckJobs(view, request)),
    reportProgress: (request) => database.change((tx) => reportProgress(tx, request)),
    readReceipt: (request) => database.read((view) => readReceipt(view, request)),
  }
}

async function readUpToDate<T>(
  database: Database,
  id: string,
  read: (view: View) => Step<T>,
): Promise<T> {
  const seen = await database.read(function* (view) {
    return (yield* isJobDue(view, id)) ? undefined : { result: yield* read(view) }
  })
  if (seen !== undefined) return seen.result
  await database.change((tx) => endDueJob(tx, id))
  return database.read(read)
}

/** Purged jobs are listed once the sweep has removed them. */
async function listUpToDate(database: Database, request: ListJobs): Promise<Page<JobRecord>> {
  const isLate = await database.read(function* (view) {
    return yield* hasDue(view, yield* view.queue(request.queue))
  })
  if (isLate) {
    await database.change(function* (tx) {
      yield* endDueForRead(tx, yield* tx.queue(request.queue))
    })
  }
  return database.read((view) => listJobs(view, request))
}

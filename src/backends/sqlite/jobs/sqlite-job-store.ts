/** The port of tracked jobs on SQLite. */
import type { Page } from '../../backend.ts'
import type {
  EnqueuedJob,
  EnqueueJobs,
  EnqueueWithin,
  FindStuck,
  JobAttempt,
  JobId,
  JobRecord,
  JobStore,
  ListJobs,
  ProgressResult,
  ReportProgress,
  StuckJob,
} from '../../job-store.ts'
import type { CallerTransactions } from '../driver/caller-transactions.ts'
import type { Session } from '../driver/session.ts'
import type { Writer } from '../driver/writer.ts'
import { endDueForRead, hasDue } from '../messages/elapsed-time.ts'
import { enqueueJobs } from './enqueueing.ts'
import { cancelJob, reportProgress, retryJob } from './job-control.ts'
import { endDueJob, isJobDue } from './job-elapsed-time.ts'
import { listJobs } from './job-listing.ts'
import { readAttempts, readJob } from './job-reading.ts'
import { stuckJobs } from './stuck-jobs.ts'

type Read = <T>(run: (session: Session, now: number) => T) => Promise<T>

export interface SqliteJobStoreParts {
  readonly writer: Writer
  readonly read: Read
  readonly callers: CallerTransactions
}

export class SqliteJobStore implements JobStore {
  readonly #writer: Writer
  readonly #read: Read
  readonly #callers: CallerTransactions

  constructor({ writer, read, callers }: SqliteJobStoreParts) {
    this.#writer = writer
    this.#read = read
    this.#callers = callers
  }

  enqueue(request: EnqueueJobs): Promise<readonly EnqueuedJob[]> {
    return this.#writer.add((tx) => enqueueJobs(tx, request))
  }

  enqueueWithin({ transaction, ...request }: EnqueueWithin): readonly EnqueuedJob[] {
    return this.#callers.run(transaction, (tx) => enqueueJobs(tx, request))
  }

  read({ id }: JobId): Promise<JobRecord | undefined> {
    return this.#readUpToDate(id, (session) => readJob(session, id))
  }

  /** What was purged is listed once it is swept away. */
  async list(request: ListJobs): Promise<Page<JobRecord>> {
    const { queue } = request
    const isLate = await this.#read((session, now) =>
      hasDue(session, session.queues.require(queue), now),
    )
    if (isLate) await this.#writer.submit((tx) => endDueForRead(tx, tx.queue(queue)))
    return this.#read((session) => listJobs(session, request))
  }

  cancel({ id }: JobId): Promise<JobRecord> {
    return this.#writer.submit((tx) => cancelJob(tx, id))
  }

  retry({ id }: JobId): Promise<EnqueuedJob> {
    return this.#writer.add((tx) => retryJob(tx, id))
  }

  attempts({ id }: JobId): Promise<readonly JobAttempt[]> {
    return this.#readUpToDate(id, (session) => readAttempts(session, id))
  }

  stuck(request: FindStuck): Promise<readonly StuckJob[]> {
    return this.#read((session, now) => stuckJobs(session, request, now))
  }

  reportProgress(request: ReportProgress): Promise<ProgressResult> {
    return this.#writer.submit((tx) => reportProgress(tx, request))
  }

  async #readUpToDate<T>(id: string, run: (session: Session) => T): Promise<T> {
    const seen = await this.#read((session, now) =>
      isJobDue(session, id, now) ? undefined : { answer: run(session) },
    )
    if (seen !== undefined) return seen.answer
    await this.#writer.submit((tx) => endDueJob(tx, id))
    return this.#read(run)
  }
}

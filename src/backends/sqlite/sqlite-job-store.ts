/** The port of tracked jobs on SQLite. */
import type { Page } from '../backend.ts'
import type {
  EnqueuedJob,
  EnqueueJobs,
  JobAttempt,
  JobId,
  JobRecord,
  JobStore,
  ListJobs,
  ProgressResult,
  ReportProgress,
} from '../job-store.ts'
import { enqueueJobs } from './enqueueing.ts'
import { cancelJob, reportProgress, retryJob } from './job-control.ts'
import { listJobs, readAttempts, readJob } from './job-reading.ts'
import type { Session } from './session.ts'
import type { Writer } from './writer.ts'

export class SqliteJobStore implements JobStore {
  readonly #writer: Writer
  readonly #read: <T>(run: (session: Session) => T) => Promise<T>

  constructor(writer: Writer, read: <T>(run: (session: Session) => T) => Promise<T>) {
    this.#writer = writer
    this.#read = read
  }

  enqueue(request: EnqueueJobs): Promise<readonly EnqueuedJob[]> {
    return this.#writer.submit((tx) => enqueueJobs(tx, request))
  }

  read({ id }: JobId): Promise<JobRecord | undefined> {
    return this.#read((session) => readJob(session, id))
  }

  list(request: ListJobs): Promise<Page<JobRecord>> {
    return this.#read((session) => listJobs(session, request))
  }

  cancel({ id }: JobId): Promise<JobRecord> {
    return this.#writer.submit((tx) => cancelJob(tx, id))
  }

  retry({ id }: JobId): Promise<EnqueuedJob> {
    return this.#writer.submit((tx) => retryJob(tx, id))
  }

  attempts({ id }: JobId): Promise<readonly JobAttempt[]> {
    return this.#read((session) => readAttempts(session, id))
  }

  reportProgress(request: ReportProgress): Promise<ProgressResult> {
    return this.#writer.submit((tx) => reportProgress(tx, request))
  }
}

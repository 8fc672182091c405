/**
 * The academy's own table of jobs, in a separate database. The user interface shows it, and workers check it
 * before they begin. A COMPLETED row is never processed again. A PROCESSING row is skipped unless the worker
 * that began it has lost its message: see `begin`.
 */
import { Database, type Row } from '../shared/database.ts'

export type RecordStatus = 'PENDING' | 'PROCESSING' | 'COMPLETED' | 'FAILED'

export interface JobRecord {
  readonly jobId: string
  readonly jobType: string
  readonly status: RecordStatus
  /** How many attempts have begun. */
  readonly attempts: number
  readonly result: unknown
  readonly error: string | null
}

/** The message and lease of a worker. A later lease has a larger token. */
export interface LeaseHolder {
  readonly messageId: string
  readonly token: number
}

export interface Records extends Disposable {
  add(job: Pick<JobRecord, 'jobId' | 'jobType'>): void
  get(jobId: string): JobRecord | undefined
  list(): readonly JobRecord[]
  /** False if the job is completed, or another worker is processing it. */
  begin(job: Pick<JobRecord, 'jobId' | 'jobType'>, holder: LeaseHolder): boolean
  /** These two return false and change nothing if another worker has begun since. */
  complete(jobId: string, holder: LeaseHolder, result: unknown): boolean
  recordFailure(
    jobId: string,
    holder: LeaseHolder,
    end: { status: 'PENDING' | 'FAILED'; error: string },
  ): boolean
}

export interface RecordsOptions {
  readonly file: string
  /** The longest time that one attempt can take. */
  readonly attemptMsMax: number
  readonly now: () => number
}

const schema = `
  CREATE TABLE IF NOT EXISTS job (
    job_id TEXT PRIMARY KEY,
    job_type TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'PENDING',
    attempts INTEGER NOT NULL DEFAULT 0,
    message_id TEXT,
    token INTEGER NOT NULL DEFAULT 0,
    begun_at INTEGER,
    result TEXT,
    error TEXT
  ) STRICT`

/**
 * A PROCESSING row is taken over in two cases. First, by the same message with a later token: the earlier
 * lease has ended, so that worker crashed or is late. Second, by another message (a redriven dead letter or a
 * repeated send) once the earlier attempt must have timed out. Until then, that message is a duplicate.
 */
const begin = `
  INSERT INTO job (job_id, job_type, status, attempts, message_id, token, begun_at)
  VALUES (?, ?, 'PROCESSING', 1, ?, ?, ?)
  ON CONFLICT (job_id) DO UPDATE SET
    status = 'PROCESSING', attempts = attempts + 1, message_id = excluded.message_id,
    token = excluded.token, begun_at = excluded.begun_at, error = NULL
  WHERE job.status <> 'COMPLETED' AND job.token < excluded.token
    AND (job.status <> 'PROCESSING' OR job.message_id = excluded.message_id OR job.begun_at < ?)`

const end = `
  UPDATE job SET status = ?, result = ?, error = ?
  WHERE job_id = ? AND token = ? AND status = 'PROCESSING'`

export function openRecords({ file, attemptMsMax, now }: RecordsOptions): Records {
  const db = new Database(file, schema)
  return {
    add: ({ jobId, jobType }) =>
      void db.run('INSERT OR IGNORE INTO job (job_id, job_type) VALUES (?, ?)', jobId, jobType),
    get: (jobId) => toRecord(db.get('SELECT * FROM job WHERE job_id = ?', jobId)),
    list: () => db.all('SELECT * FROM job ORDER BY rowid').flatMap((row) => toRecord(row) ?? []),
    begin({ jobId, jobType }, { messageId, token }) {
      const at = now()
      return db.run(begin, jobId, jobType, messageId, token, at, at - attemptMsMax) === 1
    },
    complete: (jobId, { token }, result) =>
      db.run(end, 'COMPLETED', JSON.stringify(result), null, jobId, token) === 1,
    recordFailure: (jobId, { token }, { status, error }) =>
      db.run(end, status, null, error, jobId, token) === 1,
    [Symbol.dispose]: () => db.close(),
  }
}

function toRecord(row: Row | undefined): JobRecord | undefined {
  if (row === undefined) return undefined
  const { job_id, job_type, status, attempts, result, error } = row
  return {
    jobId: String(job_id),
    jobType: String(job_type),
    // Only the statements above write this table, so the types are known.
    status: status as RecordStatus,
    attempts: Number(attempts),
    result: typeof result === 'string' ? JSON.parse(result) : null,
    error: typeof error === 'string' ? error : null,
  }
}

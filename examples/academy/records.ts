/**
 * The academy's own table of jobs, in a database of its own: what its screens show, and what a worker
 * looks at before it begins. A row that is COMPLETED is never worked on again. One that is PROCESSING is
 * left alone, unless whoever was at it has lost the message: see `begin`.
 */
import { Database, type Row } from '../shared/database.ts'

export type RecordStatus = 'PENDING' | 'PROCESSING' | 'COMPLETED' | 'FAILED'

export interface JobRecord {
  readonly jobId: string
  readonly jobType: string
  readonly status: RecordStatus
  /** How often a worker has begun it. */
  readonly attempts: number
  readonly result: unknown
  readonly error: string | null
}

/** The lease under which a worker writes. Its token is larger than that of every earlier lease. */
export interface Holder {
  readonly messageId: string
  readonly token: number
}

export interface Records extends Disposable {
  add(job: Pick<JobRecord, 'jobId' | 'jobType'>): void
  get(jobId: string): JobRecord | undefined
  list(): readonly JobRecord[]
  /** False when the job is done, or somebody else is working on it. */
  begin(job: Pick<JobRecord, 'jobId' | 'jobType'>, holder: Holder): boolean
  /** These two answer false, and change nothing, when another holder has begun since. */
  complete(jobId: string, holder: Holder, result: unknown): boolean
  giveUp(
    jobId: string,
    holder: Holder,
    end: { status: 'PENDING' | 'FAILED'; error: string },
  ): boolean
}

export interface RecordsOptions {
  readonly file: string
  /** How long one attempt can last at most. */
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
 * A PROCESSING row is taken over in two cases. The same message under a later token: its earlier lease
 * has ended, so the earlier worker crashed or came too late. Another message (a replayed dead letter, a
 * repeated send) once no attempt that has begun can still be running; until then it is a duplicate.
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
    giveUp: (jobId, { token }, { status, error }) =>
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
    // The table is written by the statements above alone.
    status: status as RecordStatus,
    attempts: Number(attempts),
    result: typeof result === 'string' ? JSON.parse(result) : null,
    error: typeof error === 'string' ? error : null,
  }
}

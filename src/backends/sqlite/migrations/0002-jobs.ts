/**
 * Tracked jobs. While a job lives, its message is its row: what it waits for and how often it was
 * tried is known there already, and is not written twice. When it ends, its story moves to a table of
 * finished jobs, so that neither the hot table nor its indexes grow with history.
 */
export const jobs = `
ALTER TABLE message ADD COLUMN job_type TEXT;    -- not null: the message is a job that has not ended
ALTER TABLE message ADD COLUMN job_owner TEXT;
ALTER TABLE message ADD COLUMN job TEXT;         -- JSON: the rest of what was said about the job
CREATE INDEX message_job ON message (generation, sequence) WHERE job_type IS NOT NULL;

CREATE INDEX queue_by_generation ON queue (generation);
ALTER TABLE discarded_generation ADD COLUMN queue TEXT NOT NULL DEFAULT '';

CREATE TABLE finished_job (
  number          INTEGER PRIMARY KEY,           -- the sequence number of its message
  queue           TEXT NOT NULL,
  type            TEXT NOT NULL,
  status          TEXT NOT NULL,
  owner           TEXT,
  group_name      TEXT,
  details         TEXT NOT NULL,
  payload         TEXT NOT NULL,
  result          TEXT,
  error           TEXT,
  attempts        INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  started_at      INTEGER,                       -- of the first attempt
  last_started_at INTEGER,
  finished_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX finished_job_by_queue ON finished_job (queue, status, number);

-- Attempts that ended without ending the job.
CREATE TABLE job_attempt (
  number     INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at   INTEGER NOT NULL,
  outcome    TEXT NOT NULL,
  error      TEXT,
  PRIMARY KEY (number, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_progress (
  number     INTEGER PRIMARY KEY,
  progress   REAL NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT;

CREATE TABLE idempotency (
  scope       TEXT NOT NULL,                     -- queue, type and owner
  key         TEXT NOT NULL,
  number      INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,                     -- of the payload
  expires_at  INTEGER NOT NULL,
  PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
`

/** Schedules, and when they tick next; and what the janitor has found. */
export const schedules = `
CREATE TABLE schedule (
  name        TEXT PRIMARY KEY,
  scope       TEXT NOT NULL,      -- which app and stage it belongs to
  rule        TEXT NOT NULL,
  declared_at INTEGER NOT NULL,   -- when an open app last said that it has it, by this rule
  next_at     INTEGER,            -- null: it never ticks again
  last_at     INTEGER,
  ticks       INTEGER NOT NULL DEFAULT 0,
  skipped     INTEGER NOT NULL DEFAULT 0,
  failed      INTEGER NOT NULL DEFAULT 0,
  last_error  TEXT,
  paused_at   INTEGER,
  paused_by   TEXT,
  resumed_at  INTEGER,
  resumed_by  TEXT,
  ran_at      INTEGER,
  ran_by      TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX schedule_due ON schedule (scope, next_at) WHERE paused_at IS NULL;

CREATE TABLE finding (
  scope    TEXT NOT NULL,      -- which app and stage it belongs to, or empty
  kind     TEXT NOT NULL,
  place    TEXT NOT NULL,      -- the queue, flow or collector
  id       TEXT NOT NULL,
  type     TEXT,
  since    INTEGER NOT NULL,
  noted_at INTEGER NOT NULL,
  seen_at  INTEGER NOT NULL,
  reported INTEGER NOT NULL,
  PRIMARY KEY (scope, kind, place, id)
) STRICT, WITHOUT ROWID;
`

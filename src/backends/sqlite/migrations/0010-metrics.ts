/**
 * Metrics by the minute. Counters only rise; what they had come to when a minute was last written down
 * is kept beside them, so that the next minute is the exact difference, whoever writes it.
 */
export const metrics = `
ALTER TABLE queue_count ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;   -- attempts
ALTER TABLE queue_count ADD COLUMN redriven INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue_count ADD COLUMN empty_receives INTEGER NOT NULL DEFAULT 0;

CREATE TABLE metric_clock (
  id          INTEGER PRIMARY KEY CHECK (id = 1),
  minute      INTEGER NOT NULL,   -- that is being written, or was last
  after_queue INTEGER             -- how far it has come; null when it is complete
) STRICT;
INSERT INTO metric_clock VALUES (1, 0, NULL);

-- The counters of a queue when it was last written down.
CREATE TABLE metric_base (
  queue          INTEGER PRIMARY KEY,
  sent           INTEGER NOT NULL,
  received       INTEGER NOT NULL,
  acknowledged   INTEGER NOT NULL,
  deduplicated   INTEGER NOT NULL,
  dead_lettered  INTEGER NOT NULL,
  expired        INTEGER NOT NULL,
  failed         INTEGER NOT NULL,
  redriven       INTEGER NOT NULL,
  empty_receives INTEGER NOT NULL,
  waiting        INTEGER NOT NULL   -- messages that it held; a purge is counted nowhere else
) STRICT;
-- What was counted before there were metrics belongs to no minute.
INSERT INTO metric_base
  SELECT queue, sent, received, acknowledged, deduplicated, dead_lettered, expired, 0, 0, 0,
    ready + leased + delayed
  FROM queue_count;

CREATE TABLE metric_minute (
  queue          INTEGER NOT NULL,
  minute         INTEGER NOT NULL,
  sent           INTEGER NOT NULL,
  received       INTEGER NOT NULL,
  acknowledged   INTEGER NOT NULL,
  deduplicated   INTEGER NOT NULL,
  dead_lettered  INTEGER NOT NULL,
  expired        INTEGER NOT NULL,
  failed         INTEGER NOT NULL,
  redriven       INTEGER NOT NULL,
  empty_receives INTEGER NOT NULL,
  ready          INTEGER NOT NULL,
  leased         INTEGER NOT NULL,
  delayed        INTEGER NOT NULL,
  oldest_ready   INTEGER,         -- ages in milliseconds
  oldest         INTEGER,
  handlers       TEXT,            -- JSON; see metric-handlers.ts
  PRIMARY KEY (queue, minute)
) STRICT, WITHOUT ROWID;
CREATE INDEX metric_minute_by_age ON metric_minute (minute);

CREATE TABLE metric_handlers (
  queue   INTEGER PRIMARY KEY,
  total   TEXT NOT NULL,
  sampled TEXT                    -- the total when it was last written down
) STRICT;

-- Values that apps set under names of their own.
CREATE TABLE metric_name (
  id    INTEGER PRIMARY KEY,
  name  TEXT NOT NULL UNIQUE,
  count INTEGER NOT NULL DEFAULT 0,   -- of all values since the name is known, and their sum
  sum   REAL NOT NULL DEFAULT 0,
  last  REAL NOT NULL DEFAULT 0,
  at    INTEGER NOT NULL DEFAULT 0    -- when the last one was set
) STRICT;
CREATE TABLE metric_value (
  name   INTEGER NOT NULL,
  minute INTEGER NOT NULL,
  count  INTEGER NOT NULL,
  sum    REAL NOT NULL,
  min    REAL NOT NULL,
  max    REAL NOT NULL,
  PRIMARY KEY (name, minute)
) STRICT, WITHOUT ROWID;
CREATE INDEX metric_value_by_age ON metric_value (minute);
`

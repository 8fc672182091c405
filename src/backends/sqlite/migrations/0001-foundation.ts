/**
 * The first schema. Rows of waiting messages live in one narrow, hot table; two partial indexes give
 * each state its own order, so the cost of a send, a receive or an acknowledgement does not depend
 * on how much is waiting.
 *
 * A queue's messages belong to its current *generation*. Purging or deleting a queue starts or ends
 * a generation in one step; the rows of an old one are swept away later, in slices.
 */
export const foundation = `
CREATE TABLE store (
  id               INTEGER PRIMARY KEY CHECK (id = 1),
  id_prefix        TEXT NOT NULL,      -- random; tells the message ids of this store from any other's
  last_sequence    INTEGER NOT NULL,
  last_token       INTEGER NOT NULL,
  last_generation  INTEGER NOT NULL,
  clock_ms         INTEGER NOT NULL,   -- the store's clock, which never runs backwards
  topology_version INTEGER NOT NULL    -- rises with every change of a queue's settings
) STRICT;
INSERT INTO store VALUES (1, lower(hex(randomblob(7))), 0, 1 << 40, 0, 0, 1);

CREATE TABLE queue (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,   -- receipts name it, so ids are never used again
  name        TEXT NOT NULL UNIQUE,
  generation  INTEGER NOT NULL,
  settings    TEXT NOT NULL,
  tags        TEXT NOT NULL,
  dead_letter TEXT,                                -- name of the dead-letter queue
  created_at  INTEGER NOT NULL,
  changed_at  INTEGER NOT NULL,
  purged_at   INTEGER
) STRICT;
CREATE INDEX queue_by_dead_letter ON queue (dead_letter, name) WHERE dead_letter IS NOT NULL;

CREATE TABLE queue_count (
  queue         INTEGER PRIMARY KEY,
  ready         INTEGER NOT NULL DEFAULT 0,
  leased        INTEGER NOT NULL DEFAULT 0,
  delayed       INTEGER NOT NULL DEFAULT 0,
  sent          INTEGER NOT NULL DEFAULT 0,
  deduplicated  INTEGER NOT NULL DEFAULT 0,
  received      INTEGER NOT NULL DEFAULT 0,
  acknowledged  INTEGER NOT NULL DEFAULT 0,
  dead_lettered INTEGER NOT NULL DEFAULT 0,
  expired       INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE deleted_queue (
  name       TEXT PRIMARY KEY,
  deleted_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Times and tokens have a value from the start, of the size that they will have later: leasing then
-- overwrites a row in its place instead of making it longer and splitting pages.
CREATE TABLE message (
  sequence          INTEGER PRIMARY KEY,
  generation        INTEGER NOT NULL,
  state             INTEGER NOT NULL,   -- 0 ready, 1 leased, 2 delayed
  due_at            INTEGER NOT NULL,   -- not ready: when the lease, the delay or the retention ends
  held_until        INTEGER,            -- end of the lease or delay, if the retention ends before it
  token             INTEGER NOT NULL,   -- of the latest lease, or nobody's
  leased_at         INTEGER NOT NULL,
  receive_count     INTEGER NOT NULL,
  first_received_at INTEGER,            -- from the second receive on; until then leased_at is it
  sent_at           INTEGER NOT NULL,
  id                TEXT,               -- null: follows from the sequence number
  group_name        TEXT,
  deduplication_id  TEXT,
  origin            TEXT,               -- dead letters: where, when and why the message died
  attributes        TEXT,
  body              TEXT                -- null: large, and therefore in message_body
) STRICT;
CREATE INDEX message_ready ON message (generation, sequence) WHERE state = 0;
CREATE INDEX message_due ON message (generation, state, due_at) WHERE state > 0;
CREATE INDEX message_ready_in_group ON message (generation, group_name, sequence)
  WHERE state = 0 AND group_name IS NOT NULL;

-- Leasing rewrites a message's row; a large body stays out of the way.
CREATE TABLE message_body (
  sequence INTEGER PRIMARY KEY,
  body     TEXT NOT NULL
) STRICT;

-- FIFO groups that have a ready or a leased message.
CREATE TABLE fifo_group (
  generation INTEGER NOT NULL,
  name       TEXT NOT NULL,
  head       INTEGER,                   -- the first ready message
  leased     INTEGER NOT NULL,          -- while above zero, nothing of the group is given out
  PRIMARY KEY (generation, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX fifo_group_open ON fifo_group (generation, head) WHERE leased = 0 AND head IS NOT NULL;

CREATE TABLE deduplication (
  generation INTEGER NOT NULL,
  scope      TEXT NOT NULL,             -- the group, or empty for the whole queue
  id         TEXT NOT NULL,
  sequence   INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (generation, scope, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX deduplication_by_expiry ON deduplication (expires_at);

CREATE TABLE receive_attempt (
  generation INTEGER NOT NULL,
  id         TEXT NOT NULL,
  leases     TEXT NOT NULL,             -- JSON: [sequence, token, due_at] of each delivery
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (generation, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX receive_attempt_by_expiry ON receive_attempt (expires_at);

CREATE TABLE discarded_generation (
  generation INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE move_task (
  number           INTEGER PRIMARY KEY AUTOINCREMENT,
  id               TEXT NOT NULL UNIQUE,
  source           TEXT NOT NULL,
  source_queue     INTEGER NOT NULL,
  destination      TEXT,
  moves_per_second INTEGER,
  status           TEXT NOT NULL,
  started_at       INTEGER NOT NULL,
  moved            INTEGER NOT NULL,
  to_move          INTEGER NOT NULL,
  sequence_max     INTEGER NOT NULL,    -- what is sent later is not part of the task
  failure          TEXT
) STRICT;
CREATE INDEX move_task_by_source ON move_task (source, number);
CREATE UNIQUE INDEX move_task_active ON move_task (source_queue)
  WHERE status IN ('running', 'cancelling');
`

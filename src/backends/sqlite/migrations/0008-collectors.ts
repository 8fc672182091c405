/**
 * Items that are staged by key, and who merges them. A batch is not written on its items: they are
 * those in front of a place in the order, as far as they had arrived when it was begun.
 */
export const collectors = `
CREATE TABLE collector_key (
  number        INTEGER PRIMARY KEY,
  collector     TEXT NOT NULL,
  key           TEXT NOT NULL,
  settings      TEXT NOT NULL,          -- JSON, as the latest item brought them
  opened_at     INTEGER,                -- when the window began of what is in no batch
  window_ms     INTEGER NOT NULL,
  max_wait_ms   INTEGER,
  look_at       INTEGER NOT NULL,       -- when a missing trigger is worth a look
  trigger       INTEGER,                -- sequence number of the latest trigger
  holder        TEXT,                   -- receipt of the trigger with which the batch was begun
  holder_queue  TEXT,
  batch_items   INTEGER NOT NULL,
  batch_order   REAL,                   -- the batch's last item in order, and its last to arrive
  batch_last    INTEGER,
  batch_arrival INTEGER,
  again         INTEGER NOT NULL,       -- 1: a trigger is wanted as soon as the batch has ended
  noted         INTEGER NOT NULL        -- 1: it has many items, whose ids are in collector_memory
) STRICT;
CREATE UNIQUE INDEX collector_key_by_name ON collector_key (collector, key);
CREATE INDEX collector_key_by_look ON collector_key (look_at);

-- The items of a key lie together, in the order in which they are merged: they come one by one from
-- everywhere, and go all at once.
CREATE TABLE collector_item (
  key        INTEGER NOT NULL,
  item_order REAL NOT NULL,
  arrival    INTEGER NOT NULL,
  id         TEXT NOT NULL,
  staged_at  INTEGER NOT NULL,
  bytes      INTEGER NOT NULL,
  body       TEXT NOT NULL,
  PRIMARY KEY (key, item_order, arrival)
) STRICT, WITHOUT ROWID;

-- Ids of items that were merged not long ago; of keys with many items, also of those that are staged.
CREATE TABLE collector_memory (
  collector  TEXT NOT NULL,
  key        TEXT NOT NULL,
  id         TEXT NOT NULL,
  expires_at INTEGER,                   -- null until it is merged
  PRIMARY KEY (collector, key, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX collector_memory_by_expiry ON collector_memory (expires_at)
  WHERE expires_at IS NOT NULL;
`

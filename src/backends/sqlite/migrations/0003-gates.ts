/**
 * What a claim asks before it takes a message: kill switches, ceilings on what runs at once, and the
 * rate of the queue. Messages that may not be taken now leave the ready order for a lane, so that
 * nobody passes over them again and again. Every index on messages makes each send a little slower,
 * so one serves both them and those whose number is limited; queues without any of this are not in it.
 */
export const gates = `
-- State 3 is blocked: ready, but kept in a lane, which says what the message waits with. A lane that
-- is empty holds messages that are in hand, in queues with a ceiling on their number.
ALTER TABLE message ADD COLUMN lane TEXT;
CREATE INDEX message_lane ON message (generation, lane, sequence) WHERE lane IS NOT NULL;

CREATE TABLE claim_rate (
  queue INTEGER NOT NULL,
  at    INTEGER NOT NULL,   -- the last moment of the short span in which these were claimed
  count INTEGER NOT NULL,
  PRIMARY KEY (queue, at)
) STRICT, WITHOUT ROWID;

CREATE TABLE kill_switch (
  scope  TEXT NOT NULL,
  value  TEXT NOT NULL,
  mode   TEXT NOT NULL,
  by     TEXT NOT NULL,
  note   TEXT,
  set_at INTEGER NOT NULL,
  until  INTEGER,
  PRIMARY KEY (scope, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE kill_switch_event (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  scope  TEXT NOT NULL,
  value  TEXT NOT NULL,
  event  TEXT NOT NULL,
  mode   TEXT,
  by     TEXT NOT NULL,
  note   TEXT,
  at     INTEGER NOT NULL,
  until  INTEGER
) STRICT;

CREATE TABLE budget (
  name         TEXT PRIMARY KEY,
  window_start INTEGER NOT NULL,
  spent        REAL NOT NULL
) STRICT, WITHOUT ROWID;
`

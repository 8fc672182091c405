/**
 * Flows and their units. A message that does the work of a unit names it, and the unit names its
 * message, so each finds the other without an index on messages, which every send would pay for.
 * Whether a flow is done is asked of its units, by state; the counts are for those who look on.
 */
export const flows = `
ALTER TABLE message ADD COLUMN unit INTEGER;        -- the flow_unit that it works on
ALTER TABLE finished_job ADD COLUMN unit INTEGER;   -- the same, for a job that is tried again

-- Numbers of flows and units come from the sequence of messages, and are never used again.
CREATE TABLE flow (
  number         INTEGER PRIMARY KEY,
  name           TEXT NOT NULL,
  id             TEXT NOT NULL,
  status         TEXT NOT NULL,
  sealed         INTEGER NOT NULL,
  policy         TEXT NOT NULL,       -- what a unit that is given up means
  on_deadline    TEXT NOT NULL,
  keeps_work     INTEGER NOT NULL,
  in_order       INTEGER NOT NULL,    -- units are steps, of which each starts the next
  keep_ms        INTEGER NOT NULL,
  parent         INTEGER,             -- the flow_unit that it stands for, and the flow of that
  parent_flow    INTEGER,
  total          INTEGER NOT NULL,
  done           INTEGER NOT NULL,
  dead           INTEGER NOT NULL,
  failed_unit    TEXT,                -- of one that has failed, and why
  failure        TEXT,
  opened_at      INTEGER NOT NULL,
  ended_at       INTEGER,
  deadline_at    INTEGER,
  overdue        INTEGER NOT NULL,    -- open, and found to be past its deadline
  owes           TEXT,                -- the message of its end, which its queue did not take
  look_at        INTEGER,             -- when upkeep has something to do here
  swept          INTEGER NOT NULL     -- of a cancelled one: the last unit that upkeep has seen to
) STRICT;
CREATE UNIQUE INDEX flow_by_id ON flow (name, id);
CREATE INDEX flow_by_status ON flow (name, status, number);
CREATE INDEX flow_by_parent ON flow (parent_flow, status) WHERE parent_flow IS NOT NULL;
CREATE INDEX flow_due ON flow (look_at) WHERE look_at IS NOT NULL;
CREATE INDEX flow_overdue ON flow (name, number) WHERE overdue = 1;

-- What may be long stays out of the row that every mark rewrites.
CREATE TABLE flow_text (
  flow INTEGER NOT NULL,
  kind TEXT NOT NULL,                 -- finalize, failed: emissions; parent: a key; data: the caller's
  text TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX flow_text_of ON flow_text (flow, kind);

CREATE TABLE flow_unit (
  number    INTEGER PRIMARY KEY,
  flow      INTEGER NOT NULL,
  id        TEXT NOT NULL,
  state     INTEGER NOT NULL,         -- 0 pending, 1 done, 2 dead
  started   INTEGER NOT NULL,         -- it has had a message
  message   INTEGER,                  -- the sequence number of the one that works on it
  marked_at INTEGER,
  reason    TEXT                      -- why it was given up
) STRICT;
CREATE UNIQUE INDEX flow_unit_by_id ON flow_unit (flow, id);
CREATE INDEX flow_unit_by_state ON flow_unit (flow, state, number);

-- The messages of units in flows that remember them.
CREATE TABLE unit_work (
  unit INTEGER PRIMARY KEY,
  work TEXT NOT NULL
) STRICT;

-- Flows that are gone, whose units are not yet.
CREATE TABLE discarded_flow (
  number INTEGER PRIMARY KEY
) STRICT;
`

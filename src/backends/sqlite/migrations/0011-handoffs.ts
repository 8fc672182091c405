/**
 * Who holds messages that people work on, and what they wrote down. A claim is a lease like any
 * other, so its message says whether it is live: the row here adds a name to one token.
 */
export const handoffs = `
CREATE TABLE handoff_claim (
  sequence   INTEGER PRIMARY KEY,    -- of the message
  generation INTEGER NOT NULL,
  queue      TEXT NOT NULL,
  message    TEXT NOT NULL,          -- its id
  token      INTEGER NOT NULL,       -- of the lease
  by         TEXT NOT NULL,
  claimed_at INTEGER NOT NULL,
  until      INTEGER NOT NULL        -- when to look whether the message has gone
) STRICT;
CREATE INDEX handoff_claim_by_queue ON handoff_claim (generation, sequence);
CREATE INDEX handoff_claim_by_person ON handoff_claim (generation, by, sequence);
CREATE INDEX handoff_claim_by_end ON handoff_claim (until);

CREATE TABLE handoff_event (
  number  INTEGER PRIMARY KEY AUTOINCREMENT,
  queue   TEXT NOT NULL,
  message TEXT NOT NULL,
  event   TEXT NOT NULL,
  by      TEXT NOT NULL,
  note    TEXT,
  at      INTEGER NOT NULL
) STRICT;
CREATE INDEX handoff_event_by_message ON handoff_event (queue, message, number);
CREATE INDEX handoff_event_by_time ON handoff_event (at);

-- The queues that the events are of.
CREATE TABLE handoff_inbox (
  queue   TEXT PRIMARY KEY,
  last_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`

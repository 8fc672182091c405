/** What has been handed to carriers and is not confirmed, and what they have delivered. */
export const carriers = `
CREATE TABLE outgoing (
  sequence INTEGER PRIMARY KEY, -- of a message in the bucket of its carrier
  queue INTEGER NOT NULL,
  held_until INTEGER NOT NULL -- then another process may send it
);
CREATE INDEX outgoing_by_queue ON outgoing (queue, held_until);

CREATE TABLE carried_delivery (
  queue INTEGER NOT NULL,
  id TEXT NOT NULL, -- the carrier's
  sequence INTEGER, -- of the message that it became; null if it was settled without one
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (queue, id)
) WITHOUT ROWID;
CREATE INDEX carried_delivery_expiry ON carried_delivery (expires_at);

CREATE TABLE carried_queue (
  queue INTEGER PRIMARY KEY,
  kept_until INTEGER NOT NULL DEFAULT 0, -- until then its messages stay in the store, because people look at them
  ready INTEGER NOT NULL DEFAULT 0, -- at the carrier, when it was asked last
  leased INTEGER NOT NULL DEFAULT 0,
  delayed INTEGER NOT NULL DEFAULT 0,
  oldest_at INTEGER, -- when the oldest message there was sent
  noted_at INTEGER NOT NULL DEFAULT 0
);

CREATE INDEX collector_key_trigger ON collector_key (trigger) WHERE trigger IS NOT NULL;
`

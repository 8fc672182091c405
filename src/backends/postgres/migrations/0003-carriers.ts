/** What has been handed to carriers and is not confirmed, and what they have delivered. */
export const carriers = `
CREATE TABLE outgoing (
  sequence BIGINT PRIMARY KEY, -- of a message in the bucket of its carrier
  queue BIGINT NOT NULL,
  held_until BIGINT NOT NULL -- then another process may send it
);
CREATE INDEX outgoing_by_queue ON outgoing (queue, held_until);

CREATE TABLE carried_delivery (
  queue BIGINT NOT NULL,
  id TEXT COLLATE "C" NOT NULL, -- the carrier's
  sequence BIGINT, -- of the message that it became; null if it was settled without one
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (queue, id)
);
CREATE INDEX carried_delivery_expiry ON carried_delivery (expires_at);

CREATE TABLE carried_queue (
  queue BIGINT PRIMARY KEY,
  kept_until BIGINT NOT NULL DEFAULT 0, -- until then its messages stay in the store, because people look at them
  ready BIGINT NOT NULL DEFAULT 0, -- at the carrier, when it was asked last
  leased BIGINT NOT NULL DEFAULT 0,
  delayed BIGINT NOT NULL DEFAULT 0,
  oldest_at BIGINT, -- when the oldest message there was sent
  noted_at BIGINT NOT NULL DEFAULT 0
);

CREATE INDEX collector_key_trigger ON collector_key (trigger) WHERE trigger IS NOT NULL;
`

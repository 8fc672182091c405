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

CREATE INDEX collector_key_trigger ON collector_key (trigger) WHERE trigger IS NOT NULL;
`

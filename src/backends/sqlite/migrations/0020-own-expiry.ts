/**
 * Messages that do not expire by their sending and the retention of their queue: jobs, which expire only
 * if they were given a time for it; messages with a long delay; dead letters of jobs; and, because they
 * lie between those, plain messages that come after them in a queue. Ordinary messages are not in the
 * index. A blocked message now has the time of its sending as `due_at`, and the time since when it could
 * be received as `held_until`.
 */
export const ownExpiry = `
ALTER TABLE message ADD COLUMN expires_at INTEGER;     -- null: a job never expires, others by retention
ALTER TABLE message ADD COLUMN delayed_until INTEGER;  -- the end of a long delay
CREATE INDEX message_own_expiry ON message (generation, expires_at) WHERE expires_at IS NOT NULL;

-- From this sequence number on, every plain message of the queue has its own expiry.
ALTER TABLE queue ADD COLUMN own_expiry_from INTEGER;
UPDATE queue SET own_expiry_from = 0
  WHERE generation IN (SELECT generation FROM message WHERE job_type IS NOT NULL);
UPDATE message SET expires_at = sent_at + (
    SELECT json_extract(settings, '$.retentionMs') FROM queue
    WHERE queue.generation = message.generation
  )
  WHERE job_type IS NULL
    AND generation IN (SELECT generation FROM queue WHERE own_expiry_from IS NOT NULL);

UPDATE message SET due_at = held_until, held_until = NULL
  WHERE job_type IS NOT NULL AND state IN (1, 2) AND held_until IS NOT NULL;
UPDATE message SET due_at = sent_at, held_until = sent_at WHERE state = 3;
`

/**
 * Ceilings count by keys of the body, and rates by their values. A debounced job is found by its key until it
 * ends. Rates of values that are not claimed again have an expiry; the rate of a whole queue has none.
 */
export const limitsByKey = `
ALTER TABLE message ADD COLUMN limit_keys TEXT;   -- JSON: values by key; null where the queue has no such ceilings

CREATE TABLE claim_rate_by_key (
  queue      INTEGER NOT NULL,
  key        TEXT NOT NULL,       -- empty for the whole queue, else JSON: the key and its value
  at         INTEGER NOT NULL,    -- the last moment of the short span in which these were claimed
  count      INTEGER NOT NULL,
  expires_at INTEGER,
  PRIMARY KEY (queue, key, at)
) STRICT, WITHOUT ROWID;
INSERT INTO claim_rate_by_key SELECT queue, '', at, count, NULL FROM claim_rate;
DROP TABLE claim_rate;
ALTER TABLE claim_rate_by_key RENAME TO claim_rate;
CREATE INDEX claim_rate_by_expiry ON claim_rate (expires_at) WHERE expires_at IS NOT NULL;

ALTER TABLE idempotency ADD COLUMN until_ended INTEGER NOT NULL DEFAULT 0;   -- 1: counts until the job has ended
`

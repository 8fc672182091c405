/**
 * Batches whose triggers were dead-lettered. Each has a row of its own beside that of its key, and its items
 * belong to that row, so nothing that is staged later waits for them. And when an alarm was last declared, by
 * which versions of an app that run side by side find out which of them is still there.
 */
export const keptBatchesAndAlarmRenewals = `
ALTER TABLE collector_key ADD COLUMN holder_message INTEGER;      -- sequence number of that trigger
ALTER TABLE collector_key ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
DROP INDEX collector_key_by_name;
CREATE UNIQUE INDEX collector_key_by_name ON collector_key (collector, key) WHERE kept = 0;
CREATE INDEX collector_key_kept ON collector_key (collector, key) WHERE kept = 1;
CREATE INDEX collector_key_kept_for ON collector_key (trigger) WHERE kept = 1;
CREATE INDEX collector_key_by_holder ON collector_key (holder_message)
  WHERE holder_message IS NOT NULL;

ALTER TABLE alarm ADD COLUMN declared_at INTEGER NOT NULL DEFAULT 0;  -- by this rule
ALTER TABLE alarm ADD COLUMN replaced TEXT NOT NULL DEFAULT '[]';     -- JSON: the rules before it
`

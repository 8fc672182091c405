/** Columns, tables and indexes get the names that the code uses for what they hold. */
export const plainNames = `
ALTER TABLE queue_count RENAME COLUMN failed TO failed_attempts;
ALTER TABLE metric_base RENAME COLUMN failed TO failed_attempts;
ALTER TABLE metric_minute RENAME COLUMN failed TO failed_attempts;

ALTER TABLE store RENAME COLUMN topology_version TO queues_version;

DROP INDEX message_lane;
ALTER TABLE message RENAME COLUMN lane TO bucket;
CREATE INDEX message_bucket ON message (generation, bucket, sequence) WHERE bucket IS NOT NULL;

ALTER TABLE flow RENAME COLUMN owes TO end_message;

ALTER TABLE handoff_inbox RENAME TO inbox_queue;
ALTER TABLE handoff_claim RENAME TO inbox_claim;
DROP INDEX handoff_claim_by_queue;
DROP INDEX handoff_claim_by_person;
DROP INDEX handoff_claim_by_end;
CREATE INDEX inbox_claim_by_queue ON inbox_claim (generation, sequence);
CREATE INDEX inbox_claim_by_person ON inbox_claim (generation, by, sequence);
CREATE INDEX inbox_claim_by_end ON inbox_claim (until);
ALTER TABLE handoff_event RENAME TO inbox_event;
DROP INDEX handoff_event_by_message;
DROP INDEX handoff_event_by_time;
CREATE INDEX inbox_event_by_message ON inbox_event (queue, message, number);
CREATE INDEX inbox_event_by_time ON inbox_event (at);

UPDATE message SET job = replace(job, '"trace":', '"traceId":') WHERE job LIKE '%"trace":%';
UPDATE finished_job SET details = replace(details, '"trace":', '"traceId":')
  WHERE details LIKE '%"trace":%';
`

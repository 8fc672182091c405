/** Columns get the names of what they hold in the code. */
export const plainNames = `
ALTER TABLE queue_count RENAME COLUMN failed TO failed_attempts;
ALTER TABLE metric_base RENAME COLUMN failed TO failed_attempts;
ALTER TABLE metric_minute RENAME COLUMN failed TO failed_attempts;
UPDATE message SET job = replace(job, '"trace":', '"traceId":') WHERE job LIKE '%"trace":%';
UPDATE finished_job SET details = replace(details, '"trace":', '"traceId":')
  WHERE details LIKE '%"trace":%';
`

/**
 * Where the rate of a move task counts from: a task that was left does not make up for all of the time. An inbox message
 * that a person puts back is released, no longer returned.
 */
export const pacedMovesAndReleases = `
ALTER TABLE move_task ADD COLUMN paced_from INTEGER NOT NULL DEFAULT 0;
UPDATE move_task SET paced_from = started_at;
UPDATE inbox_event SET event = 'released' WHERE event = 'returned';
`

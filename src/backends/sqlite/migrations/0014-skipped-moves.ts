/** What a move task leaves where it is: how many messages, why, and up to where it has looked. */
export const skippedMoves = `
ALTER TABLE move_task ADD COLUMN queue_gone INTEGER NOT NULL DEFAULT 0;
ALTER TABLE move_task ADD COLUMN origin_unknown INTEGER NOT NULL DEFAULT 0;
-- The sequence number of the last skipped message; the task continues behind it.
ALTER TABLE move_task ADD COLUMN passed INTEGER NOT NULL DEFAULT 0;
`

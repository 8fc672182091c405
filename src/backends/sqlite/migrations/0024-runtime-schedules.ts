/** Schedules that are set at run time, beside declared ones. */
export const runtimeSchedules = `
ALTER TABLE schedule ADD COLUMN definition TEXT;  -- what a tick sends; null: the app declares it
ALTER TABLE schedule ADD COLUMN target TEXT NOT NULL DEFAULT '';  -- the queue and type that a process must know
DROP INDEX schedule_due;
CREATE INDEX schedule_due ON schedule (scope, target, next_at) WHERE paused_at IS NULL;
CREATE INDEX schedule_declared ON schedule (scope, declared_at) WHERE definition IS NULL;
`

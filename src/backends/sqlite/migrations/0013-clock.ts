/** What a process needs that starts while the wall clock is wrong; see store-clock.ts. */
export const clock = `
ALTER TABLE store ADD COLUMN wall_ms INTEGER NOT NULL DEFAULT 0;    -- believed wall time at clock_ms
ALTER TABLE store ADD COLUMN uptime_ms INTEGER NOT NULL DEFAULT 0;  -- of the machine, at clock_ms
ALTER TABLE store ADD COLUMN boot TEXT;                             -- which boot uptime_ms counts from
`

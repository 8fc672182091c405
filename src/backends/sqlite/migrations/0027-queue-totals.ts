/** The counters of a queue under the name that rules read them by; other databases add up several rows. */
export const queueTotals = `
CREATE VIEW queue_total AS SELECT * FROM queue_count;
`

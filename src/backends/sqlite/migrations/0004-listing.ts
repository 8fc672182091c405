/**
 * Jobs are listed from the order of what is ready and the few that are not, so no index has to be kept
 * for it: the one there was made every enqueue and every end of a job slower.
 */
export const listing = `
DROP INDEX message_job;
`

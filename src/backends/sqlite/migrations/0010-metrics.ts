/** Metrics by the minute. */
export const metrics = `
`

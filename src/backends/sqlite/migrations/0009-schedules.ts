/** Schedules, and when they tick next. */
export const schedules = `
`

/** States of alarms, how they changed, and notifications that wait to be delivered. */
export const alarms = `
`

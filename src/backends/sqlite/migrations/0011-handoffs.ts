/** Who holds messages that people work on, and what they wrote down. */
export const handoffs = `
`

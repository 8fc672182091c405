/** Items that are staged by key, and who merges them. */
export const collectors = `
`

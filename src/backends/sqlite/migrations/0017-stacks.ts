/** The stacks that went up on the store. */
export const stacks = `
CREATE TABLE stack (
  name       TEXT PRIMARY KEY,
  document   TEXT NOT NULL,      -- JSON
  written_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`

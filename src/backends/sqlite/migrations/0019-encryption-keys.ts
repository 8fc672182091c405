/** The keys that texts of the store are sealed with: their ids, and by what each is recognised. */
export const encryptionKeys = `
CREATE TABLE encryption_key (
  id          TEXT PRIMARY KEY,
  check_value TEXT NOT NULL,
  added_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`

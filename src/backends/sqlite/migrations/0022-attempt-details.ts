/**
 * The stacks and causes of failed attempts, and the lines that handlers have logged. They have tables of
 * their own, so that an attempt without them costs nothing.
 */
export const attemptDetails = `
CREATE TABLE job_failure (
  number  INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  failure TEXT NOT NULL,                         -- JSON
  PRIMARY KEY (number, attempt)
) STRICT;

CREATE TABLE job_log (
  number  INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  part    INTEGER NOT NULL,                      -- rises with each call that stores lines of an attempt
  token   INTEGER NOT NULL,                      -- of the lease: a released attempt runs again
  lines   TEXT NOT NULL,                         -- JSON, an array
  PRIMARY KEY (number, attempt, part)
) STRICT;
`

/**
 * The budgets that apps declare, who has reset them, and what was spent by job and by flow. Nothing refers to
 * them from messages, so work that spends nothing costs nothing.
 */
export const budgets = `
CREATE TABLE declared_budget (
  name         TEXT PRIMARY KEY,
  scope        TEXT NOT NULL,                    -- the app and stage that declared it last
  limit_amount REAL NOT NULL,
  per_ms       INTEGER,
  unit         TEXT,
  trips        TEXT NOT NULL,                    -- the name of a kill switch
  mode         TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE budget_reset (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  budget TEXT NOT NULL,
  by     TEXT NOT NULL,
  note   TEXT,
  at     INTEGER NOT NULL,
  spent  REAL NOT NULL
) STRICT;
CREATE INDEX budget_reset_of ON budget_reset (budget, number);

CREATE TABLE job_spending (
  number INTEGER NOT NULL,
  budget TEXT NOT NULL,
  amount REAL NOT NULL,
  PRIMARY KEY (number, budget)
) STRICT, WITHOUT ROWID;

CREATE TABLE flow_spending (
  flow   INTEGER NOT NULL,
  budget TEXT NOT NULL,
  amount REAL NOT NULL,
  PRIMARY KEY (flow, budget)
) STRICT, WITHOUT ROWID;
`

/** Alarms and their states, how these changed, and notifications that wait to be delivered. */
export const alarms = `
CREATE TABLE alarm (
  name         TEXT PRIMARY KEY,
  owner        TEXT NOT NULL,
  rule         TEXT NOT NULL,      -- JSON; see core/alarm-rule.ts
  revision     INTEGER NOT NULL,
  state        TEXT NOT NULL,
  reason       TEXT NOT NULL,
  since        INTEGER NOT NULL,
  evaluated_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX alarm_by_owner ON alarm (owner);

CREATE TABLE alarm_event (
  number     INTEGER PRIMARY KEY AUTOINCREMENT,
  alarm      TEXT NOT NULL,
  from_state TEXT NOT NULL,
  to_state   TEXT NOT NULL,
  reason     TEXT NOT NULL,
  at         INTEGER NOT NULL
) STRICT;
CREATE INDEX alarm_event_by_alarm ON alarm_event (alarm, number);

-- The outbox. The number of attempts is also the token of the latest lease.
CREATE TABLE notification (
  number     INTEGER PRIMARY KEY AUTOINCREMENT,
  alarm      TEXT NOT NULL,
  kind       TEXT NOT NULL,
  target     TEXT NOT NULL,
  body       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  due_at     INTEGER NOT NULL,
  error      TEXT                  -- of the latest attempt
) STRICT;
CREATE INDEX notification_due ON notification (due_at);
CREATE INDEX notification_by_alarm ON notification (alarm, created_at);
`

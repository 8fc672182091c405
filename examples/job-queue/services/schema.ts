/**
 * The tables of the example: users, documents, courses and more, in one SQLite file separate from the job
 * store. The API process and the workers open it at the same time.
 */
export const schema = `
  CREATE TABLE IF NOT EXISTS user (id TEXT PRIMARY KEY, email TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS subscription (
    user_id TEXT PRIMARY KEY, ai_credits INTEGER NOT NULL CHECK (ai_credits >= 0)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS credit_use (
    key TEXT PRIMARY KEY, user_id TEXT NOT NULL, used_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS document (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, title TEXT NOT NULL, file TEXT NOT NULL,
    text TEXT, created_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS ai_output (
    entity_id TEXT NOT NULL, task TEXT NOT NULL, output TEXT NOT NULL,
    PRIMARY KEY (entity_id, task)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS notification (
    id INTEGER PRIMARY KEY, job_id TEXT NOT NULL UNIQUE, user_id TEXT NOT NULL,
    kind TEXT NOT NULL, entity_id TEXT, created_at INTEGER NOT NULL, read_at INTEGER
  ) STRICT;
  CREATE TABLE IF NOT EXISTS sent_mail (
    job_id TEXT PRIMARY KEY, message_id TEXT NOT NULL, sent_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS course (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, topic TEXT NOT NULL, module_count INTEGER NOT NULL,
    status TEXT NOT NULL, final_exam TEXT, mastery TEXT, created_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS course_module (
    id TEXT PRIMARY KEY, course_id TEXT NOT NULL, position INTEGER NOT NULL, title TEXT NOT NULL,
    lessons TEXT, exam TEXT, UNIQUE (course_id, position)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS realtime_event (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, room TEXT NOT NULL,
    name TEXT NOT NULL, data TEXT NOT NULL, created_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS realtime_event_by_room ON realtime_event (room, id);
  CREATE VIRTUAL TABLE IF NOT EXISTS search_entry USING fts5(
    entity_id UNINDEXED, owner UNINDEXED, title, body
  );
  CREATE TABLE IF NOT EXISTS search_row (
    id INTEGER PRIMARY KEY, entity_id TEXT NOT NULL UNIQUE
  ) STRICT;`

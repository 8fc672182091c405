/**
 * The tables of this system. They are in the file of the queues, so that the rows a job writes and its
 * acknowledgement are one commit. The flow knows which units of a document are done.
 */
export const schema = `
  CREATE TABLE IF NOT EXISTS knowledge_bases (
    id TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL
  ) STRICT;

  CREATE TABLE IF NOT EXISTS documents (
    id TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL,
    kb_id TEXT NOT NULL REFERENCES knowledge_bases (id),
    filename TEXT NOT NULL,
    source_ext TEXT NOT NULL,
    source_object_key TEXT NOT NULL UNIQUE,
    extractor_model TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'ingesting', 'ready', 'failed')),
    status_at INTEGER NOT NULL,
    failure TEXT,
    units_total INTEGER,
    finalize_enqueued_at INTEGER,
    confidence_tier TEXT,
    created_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS documents_by_kb ON documents (kb_id, created_at);
  CREATE INDEX IF NOT EXISTS documents_by_status ON documents (status, status_at)
    WHERE status IN ('pending', 'ingesting');

  CREATE TABLE IF NOT EXISTS pages (
    document_id TEXT NOT NULL,
    page INTEGER NOT NULL,
    image_key TEXT NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    PRIMARY KEY (document_id, page)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE IF NOT EXISTS sections (
    document_id TEXT NOT NULL,
    section INTEGER NOT NULL,
    parent INTEGER,
    level INTEGER NOT NULL,
    title TEXT NOT NULL,
    page INTEGER NOT NULL,
    PRIMARY KEY (document_id, section)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE IF NOT EXISTS chunks (
    id INTEGER PRIMARY KEY,
    document_id TEXT NOT NULL,
    unit_index INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    section INTEGER NOT NULL,
    title TEXT NOT NULL,
    content TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    page_from INTEGER NOT NULL,
    page_to INTEGER NOT NULL,
    confidence REAL NOT NULL,
    position INTEGER,
    section_path TEXT,
    confidence_tier TEXT,
    embedding BLOB,
    embedded_hash TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS chunks_by_unit ON chunks (document_id, unit_index);

  CREATE TABLE IF NOT EXISTS extractions (
    document_id TEXT NOT NULL,
    unit_index INTEGER NOT NULL,
    model TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cache_creation_input_tokens INTEGER NOT NULL,
    cache_read_input_tokens INTEGER NOT NULL,
    PRIMARY KEY (document_id, unit_index)
  ) STRICT, WITHOUT ROWID;`

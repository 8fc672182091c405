/**
 * The tables of this system. They are in the database of the queues, so that the rows a job writes and its
 * acknowledgement are one commit. The flow knows which units of a document are done.
 */
export interface DatabaseTypes {
  /** A number that the database gives each row. */
  readonly key: string
  readonly bytes: string
}

export const schema = ({ key, bytes }: DatabaseTypes): string => `
  CREATE TABLE IF NOT EXISTS knowledge_bases (
    id TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL
  );

  CREATE TABLE IF NOT EXISTS documents (
    id TEXT PRIMARY KEY,
    organization_id TEXT NOT NULL,
    kb_id TEXT NOT NULL REFERENCES knowledge_bases (id),
    filename TEXT NOT NULL,
    source_ext TEXT NOT NULL,
    source_object_key TEXT NOT NULL UNIQUE,
    extractor_model TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'ingesting', 'ready', 'failed')),
    status_at BIGINT NOT NULL,
    failure TEXT,
    units_total BIGINT,
    finalize_enqueued_at BIGINT,
    confidence_tier TEXT,
    created_at BIGINT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS documents_by_kb ON documents (kb_id, created_at);
  CREATE INDEX IF NOT EXISTS documents_by_status ON documents (status, status_at)
    WHERE status IN ('pending', 'ingesting');

  CREATE TABLE IF NOT EXISTS pages (
    document_id TEXT NOT NULL,
    page BIGINT NOT NULL,
    image_key TEXT NOT NULL,
    width BIGINT NOT NULL,
    height BIGINT NOT NULL,
    PRIMARY KEY (document_id, page)
  );

  CREATE TABLE IF NOT EXISTS sections (
    document_id TEXT NOT NULL,
    section BIGINT NOT NULL,
    parent BIGINT,
    level BIGINT NOT NULL,
    title TEXT NOT NULL,
    page BIGINT NOT NULL,
    PRIMARY KEY (document_id, section)
  );

  CREATE TABLE IF NOT EXISTS chunks (
    id ${key},
    document_id TEXT NOT NULL,
    unit_index BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    section BIGINT NOT NULL,
    title TEXT NOT NULL,
    content TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    page_from BIGINT NOT NULL,
    page_to BIGINT NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    position BIGINT,
    section_path TEXT,
    confidence_tier TEXT,
    embedding ${bytes},
    embedded_hash TEXT
  );
  CREATE INDEX IF NOT EXISTS chunks_by_unit ON chunks (document_id, unit_index);

  CREATE TABLE IF NOT EXISTS extractions (
    document_id TEXT NOT NULL,
    unit_index BIGINT NOT NULL,
    model TEXT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cache_creation_input_tokens BIGINT NOT NULL,
    cache_read_input_tokens BIGINT NOT NULL,
    PRIMARY KEY (document_id, unit_index)
  );`

/** Reads documents and their chunks, for every process of the system. */
import type { Usage } from '../extractor/extractor.ts'
import type { Section } from '../stages/document-model.ts'
import type { ConfidenceTier } from '../stages/run-finalize.ts'
import type { SourceExt } from '../stages/source-types.ts'
import { statement, type Tables } from './tables.ts'

export type DocumentStatus = 'pending' | 'ingesting' | 'ready' | 'failed'

export interface DocumentRecord {
  readonly id: string
  readonly organizationId: string
  readonly kbId: string
  readonly filename: string
  readonly sourceExt: SourceExt
  readonly sourceObjectKey: string
  readonly extractorModel: string
  readonly status: DocumentStatus
  /** When the status last changed. */
  readonly statusAt: number
  readonly failure: string | null
  readonly unitsTotal: number | null
  readonly finalizeEnqueuedAt: number | null
  readonly confidenceTier: ConfidenceTier | null
  readonly createdAt: number
}

export type NewDocument = Pick<
  DocumentRecord,
  'id' | 'organizationId' | 'kbId' | 'filename' | 'sourceExt' | 'sourceObjectKey' | 'extractorModel'
>

export interface PageRecord {
  readonly page: number
  readonly imageKey: string
  readonly width: number
  readonly height: number
}

export interface ChunkRecord {
  readonly id: number
  readonly unitIndex: number
  readonly ordinal: number
  readonly section: number
  readonly title: string
  readonly content: string
  readonly contentHash: string
  readonly confidence: number
  readonly position: number | null
  readonly embeddedHash: string | null
}

export interface SearchableChunk {
  readonly documentId: string
  readonly filename: string
  readonly title: string
  readonly sectionPath: string
  readonly content: string
  readonly pageFrom: number
  readonly pageTo: number
  readonly confidenceTier: ConfidenceTier
  readonly embedding: Float32Array
}

export interface ModelUsage extends Usage {
  readonly model: string
  readonly units: number
}

/** Identifies the embedded content and the model. If either changes, the chunk must be embedded again. */
export function embeddedHash(model: string, contentHash: string): string {
  return `${model}:${contentHash}`
}

const documentColumns = `id, organization_id AS "organizationId", kb_id AS "kbId", filename,
  source_ext AS "sourceExt", source_object_key AS "sourceObjectKey", extractor_model AS "extractorModel",
  status, status_at AS "statusAt", failure, units_total AS "unitsTotal",
  finalize_enqueued_at AS "finalizeEnqueuedAt", confidence_tier AS "confidenceTier",
  created_at AS "createdAt"`

/** Chunks that a search reads at a time. */
const searchPage = 500

export class Library {
  readonly #tables: Tables
  readonly #now: () => number

  constructor({ tables, now }: { readonly tables: Tables; readonly now: () => number }) {
    this.#tables = tables
    this.#now = now
  }

  /** Stores what a stage writes, in a transaction of its own. */
  get write(): Tables['write'] {
    return this.#tables.write
  }

  /** The same in the transaction that settles a job, for `context.within`. */
  get within(): Tables['within'] {
    return this.#tables.within
  }

  addKnowledgeBase(kb: { readonly id: string; readonly organizationId: string }): Promise<void> {
    return this.write(function* () {
      const sql = 'INSERT INTO knowledge_bases VALUES (?, ?) ON CONFLICT DO NOTHING'
      yield statement(sql, kb.id, kb.organizationId)
    })
  }

  /** False if it belongs to another organisation or does not exist, so the caller cannot tell which. */
  async owns(organizationId: string, kbId: string): Promise<boolean> {
    const sql = 'SELECT id FROM knowledge_bases WHERE id = ? AND organization_id = ?'
    return (await this.#tables.rows(sql, kbId, organizationId)).length > 0
  }

  addDocument(document: NewDocument): Promise<void> {
    const { id, organizationId, kbId, filename, sourceExt, sourceObjectKey } = document
    const now = this.#now()
    return this.write(function* () {
      yield statement(
        `INSERT INTO documents (id, organization_id, kb_id, filename, source_ext,
           source_object_key, extractor_model, status, status_at, created_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?)`,
        ...[id, organizationId, kbId, filename, sourceExt, sourceObjectKey],
        ...[document.extractorModel, now, now],
      )
    })
  }

  document(id: string): Promise<DocumentRecord | undefined> {
    return this.#first(`SELECT ${documentColumns} FROM documents WHERE id = ?`, id)
  }

  documentOf(sourceObjectKey: string): Promise<DocumentRecord | undefined> {
    const sql = `SELECT ${documentColumns} FROM documents WHERE source_object_key = ?`
    return this.#first(sql, sourceObjectKey)
  }

  /** Newest first. */
  documentsIn(kbId: string, limit: number): Promise<readonly DocumentRecord[]> {
    return this.#tables.rows(
      `SELECT ${documentColumns} FROM documents WHERE kb_id = ?
       ORDER BY created_at DESC, id LIMIT ?`,
      ...[kbId, limit],
    )
  }

  /** Documents in this status since before the given time, oldest first. */
  stuckIn(
    status: 'pending' | 'ingesting',
    before: number,
    limit: number,
  ): Promise<readonly DocumentRecord[]> {
    return this.#tables.rows(
      `SELECT ${documentColumns} FROM documents
       WHERE status = ? AND status_at <= ? AND status IN ('pending', 'ingesting')
       ORDER BY status_at LIMIT ?`,
      ...[status, before, limit],
    )
  }

  pagesOf(documentId: string): Promise<readonly PageRecord[]> {
    const sql = `SELECT page, image_key AS "imageKey", width, height FROM pages
      WHERE document_id = ? ORDER BY page`
    return this.#tables.rows(sql, documentId)
  }

  sectionsOf(documentId: string): Promise<readonly Section[]> {
    const sql = `SELECT section AS "index", parent, level, title, page FROM sections
      WHERE document_id = ? ORDER BY section`
    return this.#tables.rows(sql, documentId)
  }

  chunksOf(documentId: string): Promise<readonly ChunkRecord[]> {
    const sql = `SELECT id, unit_index AS "unitIndex", ordinal, section, title, content,
        content_hash AS "contentHash", confidence, position, embedded_hash AS "embeddedHash"
      FROM chunks WHERE document_id = ? ORDER BY unit_index, ordinal`
    return this.#tables.rows(sql, documentId)
  }

  /** The cost of a document's units, by model. */
  usageOf(documentId: string): Promise<readonly ModelUsage[]> {
    const sql = `SELECT model, count(*) AS units, sum(input_tokens) AS "inputTokens",
        sum(output_tokens) AS "outputTokens",
        sum(cache_creation_input_tokens) AS "cacheCreationInputTokens",
        sum(cache_read_input_tokens) AS "cacheReadInputTokens"
      FROM extractions WHERE document_id = ? GROUP BY model ORDER BY model`
    return this.#tables.rows(sql, documentId)
  }

  /** Chunks of ready documents with vectors of this model. */
  async *searchable(kbId: string, model: string): AsyncGenerator<SearchableChunk> {
    const sql = `SELECT c.id, d.id AS "documentId", d.filename, c.title,
        c.section_path AS "sectionPath", c.content, c.page_from AS "pageFrom",
        c.page_to AS "pageTo", c.confidence_tier AS "confidenceTier", c.embedding
      FROM documents d JOIN chunks c ON c.document_id = d.id
      WHERE d.kb_id = ? AND d.status = 'ready' AND c.embedded_hash = ? || c.content_hash
        AND c.id > ?
      ORDER BY c.id LIMIT ?`
    type Stored = Omit<SearchableChunk, 'embedding'> & {
      readonly id: number
      readonly embedding: Uint8Array
    }
    let last = 0
    for (let isMore = true; isMore; ) {
      const values = [kbId, embeddedHash(model, ''), last, searchPage]
      const rows = await this.#tables.rows<Stored>(sql, ...values)
      for (const { id, embedding, ...chunk } of rows) {
        // A copy, because a Float32Array needs an aligned offset.
        yield { ...chunk, embedding: new Float32Array(new Uint8Array(embedding).buffer) }
        last = id
      }
      isMore = rows.length === searchPage
    }
  }

  async #first<Row>(sql: string, value: string): Promise<Row | undefined> {
    return (await this.#tables.rows<Row>(sql, value))[0]
  }
}

/** Reads documents and their chunks, for every process of the system. */
import { Database } from '../../shared/database.ts'
import type { Usage } from '../extractor/extractor.ts'
import type { Section } from '../stages/document-model.ts'
import type { ConfidenceTier } from '../stages/run-finalize.ts'
import type { SourceExt } from '../stages/source-types.ts'
import { schema } from './schema.ts'

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

const documentColumns = `id, organization_id AS organizationId, kb_id AS kbId, filename,
  source_ext AS sourceExt, source_object_key AS sourceObjectKey, extractor_model AS extractorModel,
  status, status_at AS statusAt, failure, units_total AS unitsTotal,
  finalize_enqueued_at AS finalizeEnqueuedAt, confidence_tier AS confidenceTier,
  created_at AS createdAt`

export class Library extends Database {
  readonly #now: () => number

  constructor({ file, now }: { readonly file: string; readonly now: () => number }) {
    super(file, schema)
    this.#now = now
  }

  addKnowledgeBase(kb: { readonly id: string; readonly organizationId: string }): void {
    this.run('INSERT OR IGNORE INTO knowledge_bases VALUES (?, ?)', kb.id, kb.organizationId)
  }

  /** False if it belongs to another organisation or does not exist, so the caller cannot tell which. */
  owns(organizationId: string, kbId: string): boolean {
    const sql = 'SELECT 1 FROM knowledge_bases WHERE id = ? AND organization_id = ?'
    return this.get(sql, kbId, organizationId) !== undefined
  }

  addDocument(document: NewDocument): void {
    const { id, organizationId, kbId, filename, sourceExt, sourceObjectKey } = document
    const now = this.#now()
    this.run(
      `INSERT INTO documents (id, organization_id, kb_id, filename, source_ext, source_object_key,
         extractor_model, status, status_at, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?)`,
      ...[id, organizationId, kbId, filename, sourceExt, sourceObjectKey],
      ...[document.extractorModel, now, now],
    )
  }

  document(id: string): DocumentRecord | undefined {
    return this.get(`SELECT ${documentColumns} FROM documents WHERE id = ?`, id)
  }

  documentOf(sourceObjectKey: string): DocumentRecord | undefined {
    const sql = `SELECT ${documentColumns} FROM documents WHERE source_object_key = ?`
    return this.get(sql, sourceObjectKey)
  }

  /** Newest first. */
  documentsIn(kbId: string, limit: number): readonly DocumentRecord[] {
    return this.all(
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
  ): readonly DocumentRecord[] {
    return this.all(
      `SELECT ${documentColumns} FROM documents
       WHERE status = ? AND status_at <= ? AND status IN ('pending', 'ingesting')
       ORDER BY status_at LIMIT ?`,
      ...[status, before, limit],
    )
  }

  pagesOf(documentId: string): readonly PageRecord[] {
    const sql = `SELECT page, image_key AS imageKey, width, height FROM pages
      WHERE document_id = ? ORDER BY page`
    return this.all(sql, documentId)
  }

  sectionsOf(documentId: string): readonly Section[] {
    const sql = `SELECT section AS "index", parent, level, title, page FROM sections
      WHERE document_id = ? ORDER BY section`
    return this.all(sql, documentId)
  }

  chunksOf(documentId: string): readonly ChunkRecord[] {
    const sql = `SELECT id, unit_index AS unitIndex, ordinal, section, title, content,
        content_hash AS contentHash, confidence, position, embedded_hash AS embeddedHash
      FROM chunks WHERE document_id = ? ORDER BY unit_index, ordinal`
    return this.all(sql, documentId)
  }

  /** The cost of a document's units, by model. */
  usageOf(documentId: string): readonly ModelUsage[] {
    const sql = `SELECT model, count(*) AS units, sum(input_tokens) AS inputTokens,
        sum(output_tokens) AS outputTokens,
        sum(cache_creation_input_tokens) AS cacheCreationInputTokens,
        sum(cache_read_input_tokens) AS cacheReadInputTokens
      FROM extractions WHERE document_id = ? GROUP BY model ORDER BY model`
    return this.all(sql, documentId)
  }

  /** One by one: chunks of ready documents with vectors of this model. */
  *searchable(kbId: string, model: string): Generator<SearchableChunk> {
    const sql = `SELECT d.id AS documentId, d.filename, c.title, c.section_path AS sectionPath,
        c.content, c.page_from AS pageFrom, c.page_to AS pageTo,
        c.confidence_tier AS confidenceTier, c.embedding
      FROM documents d JOIN chunks c ON c.document_id = d.id
      WHERE d.kb_id = ? AND d.status = 'ready' AND c.embedded_hash = ? || ':' || c.content_hash`
    type Stored = Omit<SearchableChunk, 'embedding'> & { readonly embedding: Uint8Array }
    for (const row of this.iterate<Stored>(sql, kbId, model)) {
      // A copy, because a Float32Array needs an aligned offset.
      const bytes = new Uint8Array(row.embedding)
      yield { ...row, embedding: new Float32Array(bytes.buffer) }
    }
  }
}

/**
 * What the stages write. The connection is the store's, in the commit that ends a job, or our own if everything
 * runs in one process. All writes are idempotent.
 */
import { replaceRows, type StoreConnection } from 'millrace'
import type { FinalizedDocument } from '../pipeline/finalize-document.ts'
import type { PreparedDocument } from '../pipeline/prepare-document.ts'
import type { ExtractedUnit } from '../stages/run-extract.ts'

type Connection = Pick<StoreConnection, 'prepare'>

/** A pending document was enqueued again, so its time as stuck starts again. */
export function keepPending(db: Connection, documentId: string, now: number): void {
  db.prepare("UPDATE documents SET status_at = ? WHERE id = ? AND status = 'pending'").run(
    now,
    documentId,
  )
}

/** The document is now ingesting. False if it has already ended. */
export function beginIngesting(db: Connection, documentId: string, now: number): boolean {
  db.prepare(
    "UPDATE documents SET status = 'ingesting', status_at = ? WHERE id = ? AND status = 'pending'",
  ).run(now, documentId)
  const row = db.prepare('SELECT status FROM documents WHERE id = ?').get(documentId)
  return row?.['status'] === 'ingesting'
}

/** LOAD: pages, sections, and the number of units. */
export function load(db: Connection, documentId: string, prepared: PreparedDocument): void {
  const { changes } = db
    .prepare(
      `UPDATE documents SET units_total = ?
       WHERE id = ? AND status = 'ingesting' AND units_total IS NULL`,
    )
    .run(prepared.units.length, documentId)
  // Another delivery has already prepared it.
  if (Number(changes) === 0) return
  replaceRows(db, {
    table: 'pages',
    where: { document_id: documentId },
    rows: prepared.pages.map(({ page, imageKey, width, height }) => ({
      page,
      image_key: imageKey,
      width,
      height,
    })),
  })
  replaceRows(db, {
    table: 'sections',
    where: { document_id: documentId },
    rows: prepared.sections.map(({ index, parent, level, title, page }) => ({
      section: index,
      parent,
      level,
      title,
      page,
    })),
  })
}

/**
 * Replaces the chunks of a unit. A model that is asked twice gives two different answers; the second replaces
 * the first. After finalizing has started, nothing changes any more.
 */
export function replaceChunks(
  db: Connection,
  unit: { readonly documentId: string; readonly unitIndex: number },
  { chunks, extraction }: ExtractedUnit,
): void {
  const { documentId, unitIndex } = unit
  const open = db
    .prepare(
      `SELECT 1 FROM documents
       WHERE id = ? AND status = 'ingesting' AND finalize_enqueued_at IS NULL`,
    )
    .get(documentId)
  if (open === undefined) return
  const where = { document_id: documentId, unit_index: unitIndex }
  const rows = chunks.map((chunk) => ({
    ordinal: chunk.ordinal,
    section: chunk.section,
    title: chunk.title,
    content: chunk.content,
    content_hash: chunk.contentHash,
    page_from: chunk.pageFrom,
    page_to: chunk.pageTo,
    confidence: chunk.confidence,
  }))
  replaceRows(db, { table: 'chunks', where, rows })
  const { model, usage } = extraction
  const paid = {
    model,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_creation_input_tokens: usage.cacheCreationInputTokens,
    cache_read_input_tokens: usage.cacheReadInputTokens,
  }
  replaceRows(db, { table: 'extractions', where, rows: [paid] })
}

/** From now on no unit can change its chunks. False if there is nothing to finalize. */
export function beginFinalizing(db: Connection, documentId: string, now: number): boolean {
  const { changes } = db
    .prepare(
      `UPDATE documents SET finalize_enqueued_at = coalesce(finalize_enqueued_at, ?)
       WHERE id = ? AND status = 'ingesting'`,
    )
    .run(now, documentId)
  return Number(changes) === 1
}

/** The document is ready for search. */
export function finish(
  db: Connection,
  documentId: string,
  { finalized, now }: { readonly finalized: FinalizedDocument; readonly now: number },
): void {
  const link = db.prepare(
    'UPDATE chunks SET position = ?, section_path = ?, confidence_tier = ? WHERE id = ?',
  )
  for (const { id, position, sectionPath, confidenceTier } of finalized.chunks) {
    link.run(position, sectionPath, confidenceTier, id)
  }
  const embed = db.prepare('UPDATE chunks SET embedding = ?, embedded_hash = ? WHERE id = ?')
  for (const { id, embedding, embeddedHash } of finalized.embeddings) {
    embed.run(new Uint8Array(embedding.buffer), embeddedHash, id)
  }
  db.prepare(
    `UPDATE documents SET status = 'ready', status_at = ?, confidence_tier = ?
     WHERE id = ? AND status = 'ingesting'`,
  ).run(now, finalized.confidenceTier, documentId)
}

/** The document failed, with a reason that its owner can read. */
export function fail(
  db: Connection,
  documentId: string,
  { reason, now }: { readonly reason: string; readonly now: number },
): void {
  db.prepare(
    `UPDATE documents SET status = 'failed', status_at = ?, failure = ?
     WHERE id = ? AND status IN ('pending', 'ingesting')`,
  ).run(now, reason, documentId)
}

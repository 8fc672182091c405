/**
 * What the stages write: in the commit that ends a job, or in a transaction of its own if everything runs in one
 * process. All writes are idempotent.
 */
import type { FinalizedDocument } from '../pipeline/finalize-document.ts'
import type { PreparedDocument } from '../pipeline/prepare-document.ts'
import type { ExtractedUnit } from '../stages/run-extract.ts'
import { statement, type Value, type Writes } from './tables.ts'

/** A pending document was enqueued again, so its time as stuck starts again. */
export function* keepPending(documentId: string, now: number): Writes {
  const sql = "UPDATE documents SET status_at = ? WHERE id = ? AND status = 'pending'"
  yield statement(sql, now, documentId)
}

/** The document is now ingesting. False if it has already ended. */
export function* beginIngesting(documentId: string, now: number): Writes<boolean> {
  const changed = yield statement(
    `UPDATE documents SET status = 'ingesting',
       status_at = CASE WHEN status = 'pending' THEN ? ELSE status_at END
     WHERE id = ? AND status IN ('pending', 'ingesting')`,
    ...[now, documentId],
  )
  return changed === 1
}

/** LOAD: pages, sections, and the number of units. */
export function* load(documentId: string, prepared: PreparedDocument): Writes {
  const changed = yield statement(
    `UPDATE documents SET units_total = ?
     WHERE id = ? AND status = 'ingesting' AND units_total IS NULL`,
    ...[prepared.units.length, documentId],
  )
  // Another delivery has already prepared it.
  if (changed === 0) return
  const where = { document_id: documentId }
  const pages = prepared.pages.map(({ page, imageKey, width, height }) => ({
    page,
    image_key: imageKey,
    width,
    height,
  }))
  yield* replaceRows('pages', where, pages)
  const sections = prepared.sections.map(({ index, parent, level, title, page }) => ({
    section: index,
    parent,
    level,
    title,
    page,
  }))
  yield* replaceRows('sections', where, sections)
}

/**
 * Replaces the chunks of a unit. A model that is asked twice gives two different answers; the second replaces
 * the first. After finalizing has started, nothing changes any more.
 */
export function* replaceChunks(
  unit: { readonly documentId: string; readonly unitIndex: number },
  { chunks, extraction }: ExtractedUnit,
): Writes {
  const { documentId, unitIndex } = unit
  // Changes nothing, but finalizing cannot start before this transaction has ended.
  const isOpen = yield statement(
    `UPDATE documents SET status = 'ingesting'
     WHERE id = ? AND status = 'ingesting' AND finalize_enqueued_at IS NULL`,
    documentId,
  )
  if (isOpen === 0) return
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
  yield* replaceRows('chunks', where, rows)
  const { model, usage } = extraction
  const paid = {
    model,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_creation_input_tokens: usage.cacheCreationInputTokens,
    cache_read_input_tokens: usage.cacheReadInputTokens,
  }
  yield* replaceRows('extractions', where, [paid])
}

/** From now on no unit can change its chunks. False if there is nothing to finalize. */
export function* beginFinalizing(documentId: string, now: number): Writes<boolean> {
  const changed = yield statement(
    `UPDATE documents SET finalize_enqueued_at = coalesce(finalize_enqueued_at, ?)
     WHERE id = ? AND status = 'ingesting'`,
    ...[now, documentId],
  )
  return changed === 1
}

/** The document is ready for search. */
export function* finish(
  documentId: string,
  { finalized, now }: { readonly finalized: FinalizedDocument; readonly now: number },
): Writes {
  const link = 'UPDATE chunks SET position = ?, section_path = ?, confidence_tier = ? WHERE id = ?'
  for (const { id, position, sectionPath, confidenceTier } of finalized.chunks) {
    yield statement(link, position, sectionPath, confidenceTier, id)
  }
  const embed = 'UPDATE chunks SET embedding = ?, embedded_hash = ? WHERE id = ?'
  for (const { id, embedding, embeddedHash } of finalized.embeddings) {
    yield statement(embed, new Uint8Array(embedding.buffer), embeddedHash, id)
  }
  yield statement(
    `UPDATE documents SET status = 'ready', status_at = ?, confidence_tier = ?
     WHERE id = ? AND status = 'ingesting'`,
    ...[now, finalized.confidenceTier, documentId],
  )
}

/** The document failed, with a reason that its owner can read. */
export function* fail(
  documentId: string,
  { reason, now }: { readonly reason: string; readonly now: number },
): Writes {
  yield statement(
    `UPDATE documents SET status = 'failed', status_at = ?, failure = ?
     WHERE id = ? AND status IN ('pending', 'ingesting')`,
    ...[now, reason, documentId],
  )
}

type Columns = Readonly<Record<string, Value>>

/** Deletes the rows with these values, and inserts new ones. */
function* replaceRows(table: string, where: Columns, rows: readonly Columns[]): Writes {
  const conditions = Object.keys(where).map((column) => `${column} = ?`)
  const sql = `DELETE FROM ${table} WHERE ${conditions.join(' AND ')}`
  yield statement(sql, ...Object.values(where))
  for (const row of rows.map((one) => ({ ...where, ...one }))) {
    const columns = Object.keys(row)
    const places = columns.map(() => '?')
    yield statement(
      `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places.join(', ')})`,
      ...Object.values(row),
    )
  }
}

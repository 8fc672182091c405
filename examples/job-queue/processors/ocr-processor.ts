/** Reads the text of an uploaded document, stores it, and enqueues indexing. */
import { UnrecoverableError } from 'millrace'
import type { Context, OcrDocument } from '../app.ts'
import type { Services } from '../services/services.ts'

export interface OcrResult {
  readonly characters: number
  readonly confidence: number
}

export function ocrProcessor({ documents, recognition }: Services) {
  return async ({ document_id }: OcrDocument, context: Context): Promise<OcrResult> => {
    const document = documents.find(document_id)
    if (document === undefined) throw new UnrecoverableError('The document has been deleted.')
    const { text, confidence } = await recognition.read(document.file)
    if (!documents.saveText(document_id, text)) {
      throw new UnrecoverableError('The document was deleted during OCR.')
    }
    context.enqueue(
      'indexing_queue',
      'index_entity',
      { entity_type: 'document', entity_id: document_id },
      { idempotencyKey: `index:${document_id}:text`, owner: document.owner },
    )
    return { characters: text.length, confidence }
  }
}

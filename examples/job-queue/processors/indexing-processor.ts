/**
 * Brings the search index up to what a document is now. Whether OCR has run before or not, and in
 * whatever order these jobs run, the index ends up with the document's latest state.
 */
import type { Context, IndexEntity } from '../app.ts'
import type { Indexed } from '../services/search-index.ts'
import type { Services } from '../services/services.ts'

export function indexingProcessor({ search }: Services) {
  return async ({ entity_id }: IndexEntity, context: Context): Promise<{ indexed: Indexed }> => {
    const indexed = search.indexDocument(entity_id)
    if (indexed === 'removed') context.log.info({}, 'the document is gone, and its entry too')
    return { indexed }
  }
}

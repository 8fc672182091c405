/**
 * Updates the search index from the current state of a document. The order of these jobs does not matter: the
 * index always ends with the latest state.
 */
import type { Context, IndexEntity } from '../app.ts'
import type { Indexed } from '../services/search-index.ts'
import type { Services } from '../services/services.ts'

export function indexingProcessor({ search }: Services) {
  return async ({ entity_id }: IndexEntity, context: Context): Promise<{ indexed: Indexed }> => {
    const indexed = search.indexDocument(entity_id)
    if (indexed === 'removed')
      context.log.info({}, 'the document was deleted, so its entry was removed')
    return { indexed }
  }
}

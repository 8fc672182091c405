/** FINALIZE: the handler for `finalizeDocument`. When the job completes, the document is ready. */
import type { Context, FinalizeJob } from '../app.ts'
import type { Ingestion } from '../open-ingestion.ts'
import { finalizeDocument } from '../pipeline/finalize-document.ts'
import * as writes from '../records/stage-writes.ts'
import { costLine } from './cost-line.ts'

export function finalizeHandler({
  library,
  embedder,
  now,
}: Pick<Ingestion, 'library' | 'embedder' | 'now'>): (
  job: FinalizeJob,
  context: Context,
) => Promise<undefined> {
  return async ({ documentId }, context) => {
    if (!(await library.write(() => writes.beginFinalizing(documentId, now())))) {
      context.log.info({ documentId }, 'document was already finalized')
      return
    }
    const finalized = await finalizeDocument({ library, embedder }, documentId, context.signal)
    const end = { finalized, now: now() }
    context.within(library.within(() => writes.finish(documentId, end)))
    context.log.info(await costLine(library, documentId), 'document ready')
  }
}

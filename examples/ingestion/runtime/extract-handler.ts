/**
 * EXTRACT: the handler for `extractUnit`. Replacing the unit's chunks, completing the job and marking the unit
 * are one commit. The commit of the last unit also enqueues the finalize job.
 */
import { type HandlerOutcome, release } from 'millrace'
import type { Context, ExtractJob } from '../app.ts'
import { costOf } from '../extractor/prices.ts'
import type { Ingestion } from '../open-ingestion.ts'
import { extractUnit } from '../pipeline/extract-unit.ts'
import * as writes from '../records/stage-writes.ts'
import type { ProviderGate } from './provider-gate.ts'

type Parts = Pick<Ingestion, 'library' | 'cache' | 'extractor'> & { readonly gate: ProviderGate }

export function extractHandler(
  parts: Parts,
): (job: ExtractJob, context: Context) => Promise<HandlerOutcome | undefined> {
  return async (job, context) => {
    const { documentId, unitId } = job
    const document = await parts.library.document(documentId)
    if (document?.status !== 'ingesting' || document.finalizeEnqueuedAt !== null) {
      context.log.info({ documentId, unitId }, 'unit was already extracted')
      return undefined
    }
    const passage = await parts.gate.pass(() => extractUnit(parts, job, context.signal))
    if (!passage.passed) return release()
    const { unitIndex, chunks, extraction } = passage.answer
    const extracted = { chunks, extraction }
    const unit = { documentId, unitIndex }
    context.within(parts.library.within(() => writes.replaceChunks(unit, extracted)))
    const { model, usage } = extraction
    context.log.info(
      {
        documentId,
        unitId,
        model,
        chunks: chunks.length,
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
        cache_creation_input_tokens: usage.cacheCreationInputTokens,
        cache_read_input_tokens: usage.cacheReadInputTokens,
        cost_usd: costOf(model, usage),
      },
      'unit extracted',
    )
    return undefined
  }
}

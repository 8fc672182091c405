/** PREP: the handler for `prepareDocument`. The units and the document's new state are one commit. */
import type { Context, IngestJob } from '../app.ts'
import type { Ingestion } from '../open-ingestion.ts'
import { type PreparedDocument, prepareDocument } from '../pipeline/prepare-document.ts'
import * as writes from '../records/stage-writes.ts'
import { BadDocument } from '../stages/bad-document.ts'

type Parts = Pick<Ingestion, 'library' | 'uploads' | 'cache' | 'now'>

export function ingestHandler(
  parts: Parts,
): (job: IngestJob, context: Context) => Promise<undefined> {
  return async (job, context) => {
    const { library, now } = parts
    const { documentId } = job
    const begun = await library.write(() => writes.beginIngesting(documentId, now()))
    if (!begun || (await library.document(documentId))?.unitsTotal !== null) {
      context.log.info({ documentId }, 'document was already prepared')
      return
    }
    let prepared: PreparedDocument
    try {
      prepared = await prepareDocument(parts, job, context.signal)
    } catch (error) {
      if (!(error instanceof BadDocument)) throw error
      // The file is the problem, not the system: the owner sees the reason, and no alarm fires.
      context.log.warn({ documentId, reason: error.reason }, 'document failed')
      const end = { reason: error.message, now: now() }
      context.within(library.within(() => writes.fail(documentId, end)))
      return
    }
    openFlow(context, job, prepared)
    context.within(library.within(() => writes.load(documentId, prepared)))
    const { pages, units } = prepared
    context.log.info({ documentId, pages: pages.length, units: units.length }, 'document prepared')
  }
}

function openFlow(context: Context, job: IngestJob, { units }: PreparedDocument): void {
  const { documentId, organizationId, kbId, extractorModel } = job
  const document = { documentId, organizationId, kbId }
  const options = { tenant: organizationId }
  context.open('extraction', documentId, {
    units: units.map(({ id }) => ({
      id,
      message: { ...document, unitId: id, extractorModel },
      options,
    })),
    finalize: { message: document, options },
  })
}

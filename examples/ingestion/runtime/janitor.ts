/**
 * Finds documents that are pending or ingesting for too long, and repairs what it can. If an upload event was
 * lost, it enqueues the document. If the upload never arrived, the document fails. It reports all others in the
 * log, with their missing units, and counts them for the alarm.
 */
import { stuckAfterMs, stuckMetric } from '../app.ts'
import type { Ingestion } from '../open-ingestion.ts'
import type { DocumentRecord } from '../records/library.ts'
import * as writes from '../records/stage-writes.ts'
import { ingestJobOf } from './object-created.ts'
import type { Runtime } from './runtime.ts'

type Parts = Pick<Ingestion, 'library' | 'uploads' | 'mill' | 'now' | 'log'>

export interface JanitorReport {
  readonly enqueued: readonly string[]
  readonly givenUp: readonly string[]
  readonly stuck: readonly { readonly documentId: string; readonly missing: readonly string[] }[]
}

/** The limit per status and run; those stuck longest come first. */
const documentsMax = 100
const unitsListedMax = 20

export async function runJanitor(parts: Parts, runtime: Runtime): Promise<JanitorReport> {
  const before = parts.now() - stuckAfterMs
  const pending = await tendPending(parts, runtime, before)
  const stuck: JanitorReport['stuck'][number][] = []
  for (const document of await parts.library.stuckIn('ingesting', before, documentsMax)) {
    const missing = await missingUnits(parts, document)
    stuck.push({ documentId: document.id, missing })
    const fields = {
      documentId: document.id,
      units_total: document.unitsTotal,
      missing: missing.join(', '),
    }
    parts.log.warn(fields, 'document stuck while ingesting')
  }
  await parts.mill.metrics.put(stuckMetric, stuck.length + pending.enqueued.length)
  return { ...pending, stuck }
}

async function tendPending(
  { library, uploads, now, log }: Parts,
  runtime: Runtime,
  before: number,
): Promise<Pick<JanitorReport, 'enqueued' | 'givenUp'>> {
  const enqueued: string[] = []
  const givenUp: string[] = []
  for (const document of await library.stuckIn('pending', before, documentsMax)) {
    const { id: documentId } = document
    if (await uploads.head(document.sourceObjectKey)) {
      await runtime.submit(ingestJobOf(document))
      await library.write(() => writes.keepPending(documentId, now()))
      enqueued.push(documentId)
      log.warn({ documentId }, 'pending document enqueued again')
    } else {
      // Its upload URL has expired long ago, so the file can no longer arrive.
      const reason = 'The file was never uploaded.'
      await library.write(() => writes.fail(documentId, { reason, now: now() }))
      givenUp.push(documentId)
      log.info({ documentId }, 'document failed: it was never uploaded')
    }
  }
  return { enqueued, givenUp }
}

/** Empty if the document is stuck before its units were created, or after all were done. */
async function missingUnits({ mill }: Parts, { id }: DocumentRecord): Promise<readonly string[]> {
  const { extraction } = mill.flows
  const missing: string[] = []
  if ((await extraction.read(id)) === undefined) return missing
  for await (const { unit } of extraction.missing(id)) {
    missing.push(unit)
    if (missing.length === unitsListedMax) break
  }
  return missing
}

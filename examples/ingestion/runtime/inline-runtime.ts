/**
 * Processes documents in the API process, without queues: the same steps, one document at a time. Use it as a
 * fallback if the queues have a problem. It guarantees less: after a crash the janitor must find the document,
 * and a step that keeps failing ends the document.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { IngestJob } from '../app.ts'
import type { Ingestion } from '../open-ingestion.ts'
import { extractUnit } from '../pipeline/extract-unit.ts'
import { finalizeDocument } from '../pipeline/finalize-document.ts'
import { prepareDocument } from '../pipeline/prepare-document.ts'
import * as writes from '../records/stage-writes.ts'
import { BadDocument } from '../stages/bad-document.ts'
import { costLine } from './cost-line.ts'
import { runJanitor } from './janitor.ts'
import type { Runtime } from './runtime.ts'

type Parts = Pick<
  Ingestion,
  | 'mill'
  | 'library'
  | 'uploads'
  | 'cache'
  | 'extractor'
  | 'embedder'
  | 'environment'
  | 'now'
  | 'log'
>

const triesMax = 3
/** The reason that the owner sees if the failure is ours. */
const ourFault = 'The document could not be processed.'

export function inlineRuntime(parts: Parts): Runtime {
  let line: Promise<void> = Promise.resolve()
  const runtime: Runtime = {
    async submit(job) {
      line = line.then(() => ingest(parts, job))
    },
    async stop() {
      await janitor.stop()
      await line
    },
  }
  // Without workers, this process must look for stuck documents itself.
  const janitor = parts.mill.worker({
    poll: ['janitor'],
    handle: {
      janitor: async () => {
        await runJanitor(parts, runtime)
      },
    },
  })
  janitor.start()
  return runtime
}

async function ingest(parts: Parts, job: IngestJob): Promise<void> {
  const { library, now, log } = parts
  const { documentId } = job
  try {
    if (!(await library.write(() => writes.beginIngesting(documentId, now())))) return
    const prepared = await again(parts, () => prepareDocument(parts, job))
    await library.write(() => writes.load(documentId, prepared))
    for (const { id: unitId } of prepared.units) {
      const unit = { ...job, unitId }
      const { unitIndex, ...extracted } = await again(parts, () => extractUnit(parts, unit))
      const of = { documentId, unitIndex }
      await library.write(() => writes.replaceChunks(of, extracted))
    }
    await library.write(() => writes.beginFinalizing(documentId, now()))
    const finalized = await again(parts, () => finalizeDocument(parts, documentId))
    await library.write(() => writes.finish(documentId, { finalized, now: now() }))
    log.info(await costLine(library, documentId), 'document ready')
  } catch (error) {
    const isBad = error instanceof BadDocument
    const reason = isBad ? error.message : ourFault
    await library.write(() => writes.fail(documentId, { reason, now: now() }))
    log.warn({ documentId, reason: isBad ? error.reason : 'unexpected' }, 'document failed')
  }
}

/** Retries a few times with growing waits, but not if retries cannot help. */
async function again<Answer>({ environment }: Parts, run: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await run()
    } catch (error) {
      if (error instanceof BadDocument || tries === triesMax) throw error
      await pause(environment.INGESTION_RETRY_MS * 2 ** (tries - 1))
    }
  }
}

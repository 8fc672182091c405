/** PREP: render, parse, structure, units. Large results go to the cache; the rest is returned. */
import { cacheKeys } from '../objects/object-key.ts'
import type { PageRecord } from '../records/library.ts'
import type { Section } from '../stages/document-model.ts'
import { runParse } from '../stages/run-parse.ts'
import { runRender } from '../stages/run-render.ts'
import { runStructure } from '../stages/run-structure.ts'
import { runUnits } from '../stages/run-units.ts'
import { openSource, type SourceDocument } from '../stages/source-document.ts'
import type { SourceExt } from '../stages/source-types.ts'
import type { DocumentJob, PipelineParts } from './parts.ts'

export interface SourceJob extends DocumentJob {
  readonly sourceObjectKey: string
  readonly sourceExt: SourceExt
}

export interface PreparedDocument {
  readonly pages: readonly PageRecord[]
  readonly sections: readonly Section[]
  readonly units: readonly { readonly id: string; readonly index: number }[]
}

export async function prepareDocument(
  { uploads, cache }: Pick<PipelineParts, 'uploads' | 'cache'>,
  job: SourceJob,
  signal?: AbortSignal,
): Promise<PreparedDocument> {
  const content = await uploads.get(job.sourceObjectKey)
  await using source = await openSource(content, job.sourceExt)
  const keys = cacheKeys(job)
  // Read the text first: a document without text needs no page images.
  const raw = await runParse(source)
  const structured = runStructure(raw)
  const units = runUnits(structured)
  const pages = await renderPages(source, { cache, keys, signal })
  await cache.put(keys.parse, JSON.stringify(structured), 'application/json')
  for (const unit of units) {
    signal?.throwIfAborted()
    await cache.put(keys.unit(unit.id), JSON.stringify(unit), 'application/json')
  }
  return {
    pages,
    sections: structured.sections,
    units: units.map(({ id, index }) => ({ id, index })),
  }
}

async function renderPages(
  source: SourceDocument,
  {
    cache,
    keys,
    signal,
  }: {
    readonly cache: PipelineParts['cache']
    readonly keys: ReturnType<typeof cacheKeys>
    readonly signal: AbortSignal | undefined
  },
): Promise<readonly PageRecord[]> {
  const pages: PageRecord[] = []
  for await (const { page, png, width, height } of runRender(source)) {
    signal?.throwIfAborted()
    const imageKey = keys.page(page)
    await cache.put(imageKey, png, 'image/png')
    pages.push({ page, imageKey, width, height })
  }
  return pages
}

/** EXTRACT: reads one unit from the cache and returns its chunks. */
import { z } from 'zod'
import { cacheKeys } from '../objects/object-key.ts'
import { type ExtractedUnit, runExtract } from '../stages/run-extract.ts'
import type { DocumentJob, PipelineParts } from './parts.ts'

export interface UnitJob extends DocumentJob {
  readonly unitId: string
  readonly extractorModel: string
}

export interface ExtractedUnitOf extends ExtractedUnit {
  readonly unitIndex: number
}

const StoredUnit = z.object({
  id: z.string(),
  index: z.int().min(0),
  path: z.array(z.string()),
  atoms: z.array(
    z.object({
      index: z.int().min(0),
      page: z.int().min(1),
      kind: z.enum(['heading', 'paragraph', 'list_item', 'table_row']),
      text: z.string(),
      section: z.int().min(0),
    }),
  ),
})

export async function extractUnit(
  { cache, extractor }: Pick<PipelineParts, 'cache' | 'extractor'>,
  job: UnitJob,
  signal?: AbortSignal,
): Promise<ExtractedUnitOf> {
  const keys = cacheKeys(job)
  const stored = await cache.get(keys.unit(job.unitId))
  const unit = StoredUnit.parse(JSON.parse(stored.toString()))
  const options = { model: job.extractorModel, ...(signal && { signal }) }
  const extracted = await runExtract(unit, extractor, options)
  const groupings = JSON.stringify(extracted.extraction)
  await cache.put(keys.groupings(unit.id), groupings, 'application/json')
  return { ...extracted, unitIndex: unit.index }
}

/** The cost of a document, as fields of a log line. */
import type { LogFields } from 'millrace'
import { costOf } from '../extractor/prices.ts'
import type { Library } from '../records/library.ts'

export async function costLine(library: Library, documentId: string): Promise<LogFields> {
  const usage = await library.usageOf(documentId)
  const sum = (pick: (one: (typeof usage)[number]) => number): number =>
    usage.reduce((total, one) => total + pick(one), 0)
  const costs = usage.map((one) => costOf(one.model, one))
  return {
    documentId,
    models: usage.map(({ model }) => model).join(', '),
    units: sum(({ units }) => units),
    input_tokens: sum(({ inputTokens }) => inputTokens),
    output_tokens: sum(({ outputTokens }) => outputTokens),
    cache_creation_input_tokens: sum((one) => one.cacheCreationInputTokens),
    cache_read_input_tokens: sum((one) => one.cacheReadInputTokens),
    // Null if a model has no price in the table, because a partial sum would be misleading.
    cost_usd: costs.includes(null)
      ? null
      : costs.reduce((total: number, one) => total + (one ?? 0), 0),
  }
}

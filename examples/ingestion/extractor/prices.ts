/**
 * Prices in dollars per million tokens. Compare them with the provider's page before you rely on them, and add
 * the models that you use. Writing to the cache costs 25 % more than normal input; reading from it costs a
 * tenth.
 */
import type { Usage } from './extractor.ts'

export interface Price {
  readonly input: number
  readonly output: number
}

export const prices: Readonly<Record<string, Price>> = {
  'claude-haiku-4-5': { input: 1, output: 5 },
  'claude-3-5-haiku': { input: 0.8, output: 4 },
  'claude-sonnet-4-5': { input: 3, output: 15 },
  offline: { input: 0, output: 0 },
}

const cacheWriteFactor = 1.25
const cacheReadFactor = 0.1

/** In dollars; null if the model has no price here. */
export function costOf(model: string, usage: Usage): number | null {
  const price = prices[model.replace(/-(?:\d{8}|latest)$/, '')]
  if (price === undefined) return null
  const { inputTokens, outputTokens, cacheCreationInputTokens, cacheReadInputTokens } = usage
  const inputs =
    inputTokens +
    cacheCreationInputTokens * cacheWriteFactor +
    cacheReadInputTokens * cacheReadFactor
  return (inputs * price.input + outputTokens * price.output) / 1_000_000
}

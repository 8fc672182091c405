/** FINALIZE: the confidence tier of each chunk and of the document. */

export const confidenceTiers = ['high', 'medium', 'low'] as const

export type ConfidenceTier = (typeof confidenceTiers)[number]

const highFrom = 0.8
const mediumFrom = 0.5

export function confidenceTier(confidence: number): ConfidenceTier {
  if (confidence >= highFrom) return 'high'
  return confidence >= mediumFrom ? 'medium' : 'low'
}

/** The mean of the chunks, weighted by length. */
export function runFinalize(
  chunks: readonly { readonly confidence: number; readonly chars: number }[],
): ConfidenceTier {
  const chars = chunks.reduce((sum, chunk) => sum + chunk.chars, 0)
  const weighted = chunks.reduce((sum, chunk) => sum + chunk.confidence * chunk.chars, 0)
  return confidenceTier(chars === 0 ? 0 : weighted / chars)
}

/** Turns text into vectors, with a service or with offline feature hashing. */
import { runEmbed } from '../stages/run-embed.ts'

export interface Embedder {
  /** Stored with each vector, because vectors of different models cannot be compared. */
  readonly model: string
  /** Vectors of length 1, in the order of the texts. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly Vector[]>
}

export type Vector = Float32Array<ArrayBuffer>

export const offlineEmbedder: Embedder = {
  model: 'feature-hashing',
  embed: async (texts) => texts.map(runEmbed),
}

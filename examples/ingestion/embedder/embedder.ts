/** What turns text into vectors: a service, or feature hashing that needs no network. */
import { runEmbed } from '../stages/run-embed.ts'

export interface Embedder {
  /** Vectors of different models cannot be compared, so each is kept with the name of its model. */
  readonly model: string
  /** Vectors of length 1, in the order of the texts. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly Vector[]>
}

export type Vector = Float32Array<ArrayBuffer>

export const offlineEmbedder: Embedder = {
  model: 'feature-hashing',
  embed: async (texts) => texts.map(runEmbed),
}

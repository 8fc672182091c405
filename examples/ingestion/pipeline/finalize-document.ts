/** FINALIZE: links sections, embeds changed chunks, and computes confidence tiers. */
import { embeddedHash } from '../records/library.ts'
import { type ConfidenceTier, confidenceTier, runFinalize } from '../stages/run-finalize.ts'
import { type ChunkLink, runLinkSections } from '../stages/run-link-sections.ts'
import type { PipelineParts } from './parts.ts'

export interface FinalizedDocument {
  readonly chunks: readonly (ChunkLink & { readonly confidenceTier: ConfidenceTier })[]
  readonly embeddings: readonly {
    readonly id: number
    /** The hash of the embedded content, and the model. */
    readonly embeddedHash: string
    readonly embedding: Float32Array
  }[]
  readonly confidenceTier: ConfidenceTier
}

export async function finalizeDocument(
  { library, embedder }: Pick<PipelineParts, 'library' | 'embedder'>,
  documentId: string,
  signal?: AbortSignal,
): Promise<FinalizedDocument> {
  const chunks = await library.chunksOf(documentId)
  const tiers = new Map(chunks.map(({ id, confidence }) => [id, confidenceTier(confidence)]))
  const links = runLinkSections(await library.sectionsOf(documentId), chunks)
  const changed = chunks
    .map((chunk) => ({ ...chunk, hash: embeddedHash(embedder.model, chunk.contentHash) }))
    .filter((chunk) => chunk.embeddedHash !== chunk.hash)
  const vectors = await embedder.embed(
    changed.map(({ content }) => content),
    signal,
  )
  return {
    chunks: links.map((link) => ({ ...link, confidenceTier: tiers.get(link.id) ?? 'low' })),
    embeddings: vectors.flatMap((embedding, index) => {
      const chunk = changed[index]
      return chunk === undefined ? [] : [{ id: chunk.id, embeddedHash: chunk.hash, embedding }]
    }),
    confidenceTier: runFinalize(
      chunks.map(({ confidence, content }) => ({ confidence, chars: content.length })),
    ),
  }
}

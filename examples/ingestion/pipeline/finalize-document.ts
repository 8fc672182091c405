/** FINALIZE: links sections, embeds what has changed, and says how far the document can be trusted. */
import type { Library } from '../records/library.ts'
import { runEmbed } from '../stages/run-embed.ts'
import { type ConfidenceTier, confidenceTier, runFinalize } from '../stages/run-finalize.ts'
import { type ChunkLink, runLinkSections } from '../stages/run-link-sections.ts'

export interface FinalizedDocument {
  readonly chunks: readonly (ChunkLink & { readonly confidenceTier: ConfidenceTier })[]
  readonly embeddings: readonly {
    readonly id: number
    readonly contentHash: string
    readonly embedding: Float32Array
  }[]
  readonly confidenceTier: ConfidenceTier
}

export function finalizeDocument(library: Library, documentId: string): FinalizedDocument {
  const chunks = library.chunksOf(documentId)
  const tiers = new Map(chunks.map(({ id, confidence }) => [id, confidenceTier(confidence)]))
  const links = runLinkSections(library.sectionsOf(documentId), chunks)
  return {
    chunks: links.map((link) => ({ ...link, confidenceTier: tiers.get(link.id) ?? 'low' })),
    embeddings: chunks
      .filter(({ embeddedHash, contentHash }) => embeddedHash !== contentHash)
      .map(({ id, content, contentHash }) => ({ id, contentHash, embedding: runEmbed(content) })),
    confidenceTier: runFinalize(
      chunks.map(({ confidence, content }) => ({ confidence, chars: content.length })),
    ),
  }
}

/**
 * Gets vectors from a service with the protocol of OpenAI's `/v1/embeddings`. Voyage and many self-hosted servers
 * have the same protocol.
 */
import { z } from 'zod'
import type { Embedder, Vector } from './embedder.ts'

export interface HttpEmbedderSettings {
  /** Without the path. */
  readonly baseUrl: string
  readonly apiKey: string
  readonly model: string
}

/** All known services allow at least this many. */
const textsPerCall = 96
const callTimeoutMs = 60_000

const Answer = z.object({
  data: z.array(z.object({ index: z.int().min(0), embedding: z.array(z.number()).min(1) })),
})

/** The queue retries. The message leaves out the response, which may quote the document. */
export class EmbeddingFailed extends Error {
  override readonly name = 'EmbeddingFailed'
}

export function httpEmbedder({ baseUrl, apiKey, model }: HttpEmbedderSettings): Embedder {
  const url = `${baseUrl.replace(/\/+$/, '')}/v1/embeddings`
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
  return {
    model,
    async embed(texts, signal) {
      const vectors: Vector[] = []
      for (let from = 0; from < texts.length; from += textsPerCall) {
        const input = texts.slice(from, from + textsPerCall)
        const timeout = AbortSignal.timeout(callTimeoutMs)
        const response = await fetch(url, {
          method: 'POST',
          headers,
          body: JSON.stringify({ model, input }),
          signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
        })
        if (!response.ok)
          throw new EmbeddingFailed(`The embedding service returned ${response.status}.`)
        vectors.push(...vectorsIn(await response.json().catch(() => undefined), input.length))
      }
      return vectors
    },
  }
}

function vectorsIn(answer: unknown, count: number): readonly Vector[] {
  const { data = [] } = Answer.safeParse(answer).data ?? {}
  const ordered = data.toSorted((a, b) => a.index - b.index)
  const isComplete = data.length === count && ordered.every(({ index }, place) => index === place)
  if (!isComplete)
    throw new EmbeddingFailed('The embedding service did not return a vector for each text.')
  return ordered.map(({ embedding }) => {
    const length = Math.hypot(...embedding)
    return new Float32Array(embedding.map((value) => (length === 0 ? 0 : value / length)))
  })
}

/** Ranks chunks for a question, by the similarity of vectors and by shared words. */
import { similarity, wordsOf } from './run-embed.ts'

export interface Searchable {
  readonly content: string
  readonly embedding: Float32Array
}

export interface Found<Candidate> {
  readonly candidate: Candidate
  /** Near 1 for the best results. */
  readonly score: number
}

/** The weight of shared words in the score. */
const wordShare = 0.5
/** Results below this score are unrelated to the question. */
const scoreMin = 0.15

/** Reads the candidates one by one and keeps only the best. */
export async function runSearch<Candidate extends Searchable>(
  question: { readonly text: string; readonly embedding: Float32Array },
  candidates: AsyncIterable<Candidate> | Iterable<Candidate>,
  limit: number,
): Promise<readonly Found<Candidate>[]> {
  const words = new Set(wordsOf(question.text))
  if (words.size === 0) return []
  const found: Found<Candidate>[] = []
  for await (const candidate of candidates) {
    const near = Math.max(0, similarity(question.embedding, candidate.embedding))
    const score = (1 - wordShare) * near + wordShare * shareOf(words, candidate.content)
    if (score < scoreMin) continue
    found.push({ candidate, score })
    found.sort((a, b) => b.score - a.score)
    if (found.length > limit) found.pop()
  }
  return found
}

/** The share of the question's words that the content contains. */
function shareOf(words: ReadonlySet<string>, content: string): number {
  const own = new Set(wordsOf(content))
  let shared = 0
  for (const word of words) if (own.has(word)) shared += 1
  return shared / words.size
}

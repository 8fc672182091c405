/** Ranks chunks against a question: by the direction of their vectors, and by the words they share. */
import { similarity, wordsOf } from './run-embed.ts'

export interface Searchable {
  readonly content: string
  readonly embedding: Float32Array
}

export interface Found<Candidate> {
  readonly candidate: Candidate
  /** Best is near 1. */
  readonly score: number
}

/** How much of the score shared words are. */
const wordShare = 0.5
/** What is further off than this has nothing to do with the question. */
const scoreMin = 0.15

/** Reads the candidates one by one and keeps no more than it answers. */
export function runSearch<Candidate extends Searchable>(
  question: { readonly text: string; readonly embedding: Float32Array },
  candidates: Iterable<Candidate>,
  limit: number,
): readonly Found<Candidate>[] {
  const words = new Set(wordsOf(question.text))
  if (words.size === 0) return []
  const found: Found<Candidate>[] = []
  for (const candidate of candidates) {
    const near = Math.max(0, similarity(question.embedding, candidate.embedding))
    const score = (1 - wordShare) * near + wordShare * shareOf(words, candidate.content)
    if (score < scoreMin) continue
    found.push({ candidate, score })
    found.sort((a, b) => b.score - a.score)
    if (found.length > limit) found.pop()
  }
  return found
}

/** The part of the question's words that the content has. */
function shareOf(words: ReadonlySet<string>, content: string): number {
  const own = new Set(wordsOf(content))
  let shared = 0
  for (const word of words) if (own.has(word)) shared += 1
  return shared / words.size
}

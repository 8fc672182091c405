/**
 * EMBED: computes a vector by feature hashing: words, word pairs and parts of words are counted at positions given
 * by their hashes. It needs no network and is deterministic, but knows no meanings. A model with the same
 * signature gives better results.
 */
const dimensions = 512

const wordWeight = 1
const pairWeight = 0.5
const partWeight = 0.25
const partLength = 4

/** A vector of length 1; all zeros for text without words. */
export function runEmbed(text: string): Float32Array<ArrayBuffer> {
  const vector = new Float32Array(dimensions)
  const words = wordsOf(text)
  words.forEach((word, index) => {
    add(vector, `w:${word}`, wordWeight)
    const next = words[index + 1]
    if (next !== undefined) add(vector, `p:${word} ${next}`, pairWeight)
    for (let at = 0; at + partLength <= word.length; at += 1) {
      add(vector, `t:${word.slice(at, at + partLength)}`, partWeight)
    }
  })
  return normalized(vector)
}

/** For two vectors of the same model with length 1: from -1 to 1; 1 means the same direction. */
export function similarity(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
}

export function wordsOf(text: string): readonly string[] {
  return (
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  )
}

/** The hash also gives the sign, so that collisions cancel out on average. */
function add(vector: Float32Array, feature: string, weight: number): void {
  const hash = fnv1a(feature)
  const place = hash % dimensions
  const sign = hash & 0x80000000 ? -1 : 1
  vector[place] = (vector[place] ?? 0) + sign * weight
}

/** Frequent features count less than proportionally. */
function normalized(vector: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  const damped = vector.map((value) => Math.sign(value) * Math.log1p(Math.abs(value)))
  const length = Math.hypot(...damped)
  return length === 0 ? damped : damped.map((value) => value / length)
}

/** 32 bits, and fast on short texts. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return hash >>> 0
}

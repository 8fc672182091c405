/** Vectors, ranking, section links and confidence tiers. */
import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { runEmbed, similarity } from '../stages/run-embed.ts'
import { confidenceTier, runFinalize } from '../stages/run-finalize.ts'
import { runLinkSections } from '../stages/run-link-sections.ts'
import { runSearch } from '../stages/run-search.ts'

const texts = [
  'An overshot wheel is driven by the weight of falling water.',
  'Furrows are cut into the stones with a mill bill.',
  'Her apprenticeship takes three years.',
]
const candidates = texts.map((content) => ({ content, embedding: runEmbed(content) }))

const search = (text: string, limit: number) =>
  runSearch({ text, embedding: runEmbed(text) }, candidates, limit)

describe('an embedding', () => {
  test('has length 1, and is the same for the same text', () => {
    const vector = runEmbed('The miller hears the stones.')
    assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-5)
    assert.deepEqual(vector, runEmbed('The miller hears the stones.'))
  })

  test('is closer to a text that shares words or parts of words', () => {
    const question = runEmbed('wheels and water')
    const [near = 0, far = 0] = candidates.map(({ embedding }) => similarity(question, embedding))
    assert.ok(near > far + 0.1, `${near} and ${far}`)
  })

  test('of a text without words is all zeros, and similar to nothing', () => {
    assert.equal(similarity(runEmbed('— … !'), runEmbed(texts[0] ?? '')), 0)
  })
})

describe('search', () => {
  test('returns the best match first, and leaves out unrelated chunks', async () => {
    const found = await search('how are furrows cut into stones', 10)
    assert.equal(found[0]?.candidate.content, texts[1])
    assert.ok(found.every(({ candidate }) => candidate.content !== texts[2]))
  })

  test('returns at most the requested number, and nothing for a question without words', async () => {
    assert.equal((await search('the', 1)).length, 1)
    assert.deepEqual(await search('?!', 10), [])
  })
})

describe('finalizing', () => {
  test('gives chunks their position in the document, whatever the order of units', () => {
    const sections = [
      { index: 0, parent: null, level: 1, title: 'A', page: 1 },
      { index: 1, parent: 0, level: 2, title: 'A.1', page: 1 },
    ]
    const links = runLinkSections(sections, [
      { id: 9, unitIndex: 1, ordinal: 0, section: 1 },
      { id: 5, unitIndex: 0, ordinal: 1, section: 0 },
      { id: 7, unitIndex: 0, ordinal: 0, section: 0 },
    ])
    assert.deepEqual(links, [
      { id: 7, position: 0, sectionPath: 'A' },
      { id: 5, position: 1, sectionPath: 'A' },
      { id: 9, position: 2, sectionPath: 'A > A.1' },
    ])
  })

  test('weights the confidence of a document by the length of its chunks', () => {
    assert.deepEqual([0.8, 0.79, 0.5, 0.49].map(confidenceTier), [
      'high',
      'medium',
      'medium',
      'low',
    ])
    const chunks = [
      { confidence: 0.9, chars: 900 },
      { confidence: 0.1, chars: 10 },
    ]
    assert.equal(runFinalize(chunks), 'high')
    assert.equal(runFinalize([]), 'low')
  })
})

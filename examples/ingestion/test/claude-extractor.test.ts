/** The extractor with Anthropic's SDK, against a local server with the same protocol. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { ClaudeStub } from '../demo/claude-stub.ts'
import { claudeExtractor, UnusableAnswer } from '../extractor/claude-extractor.ts'
import type { Extractor } from '../extractor/extractor.ts'
import { cacheFloorTokens, prefixTokensAtLeast } from '../extractor/grouping-prompt.ts'
import { costOf } from '../extractor/prices.ts'
import type { Unit } from '../stages/document-model.ts'

const unit: Unit = {
  id: 'unit-0003',
  index: 2,
  path: ['Mills'],
  atoms: [
    { index: 7, page: 1, kind: 'heading', text: 'The wheel', section: 1 },
    { index: 8, page: 1, kind: 'paragraph', text: 'It turns.\nAlways.', section: 1 },
    { index: 9, page: 2, kind: 'heading', text: 'The stones', section: 2 },
    { index: 10, page: 2, kind: 'paragraph', text: 'They grind.', section: 2 },
  ],
}
const options = { model: 'claude-haiku-4-5' }

let claude: ClaudeStub
let extractor: Extractor

beforeEach(async () => {
  claude = await ClaudeStub.start()
  extractor = claudeExtractor({ apiKey: 'test', baseUrl: claude.url, retriesMax: 0 })
})
afterEach(() => claude[Symbol.asyncDispose]())

describe('the extractor', () => {
  test('returns the groupings of the model', async () => {
    const { groupings, model } = await extractor.extract(unit, options)
    assert.deepEqual(
      groupings.map(({ atoms, title }) => [atoms, title]),
      [
        [[7, 8], 'The wheel'],
        [[9, 10], 'The stones'],
      ],
    )
    assert.equal(model, 'claude-haiku-4-5')
  })

  test('sends the constant prefix first, marked for the cache, and then the unit', async () => {
    await extractor.extract(unit, options)
    await extractor.extract({ ...unit, path: ['Other'] }, options)
    const [first, second] = claude.requests
    assert.ok(first && second && Array.isArray(first.system))
    assert.deepEqual([first.tools, first.system], [second.tools, second.system])
    const [block] = first.system
    assert.deepEqual(block?.type === 'text' && block.cache_control, { type: 'ephemeral' })
    assert.deepEqual(first.tool_choice, { type: 'tool', name: 'record_groupings' })
    // An atom is always one line.
    assert.equal(
      first.messages[0]?.content,
      'Mills\n[7] heading: The wheel\n[8] paragraph: It turns. Always.\n' +
        '[9] heading: The stones\n[10] paragraph: They grind.',
    )
  })

  test('writes the prefix to the cache once, and then reads it from there', async () => {
    const { usage: first } = await extractor.extract(unit, options)
    const { usage: second } = await extractor.extract(unit, options)
    assert.ok(first.cacheCreationInputTokens >= cacheFloorTokens)
    assert.equal(first.cacheReadInputTokens, 0)
    assert.equal(second.cacheCreationInputTokens, 0)
    assert.equal(second.cacheReadInputTokens, first.cacheCreationInputTokens)
    const [a, b] = [costOf(options.model, first), costOf(options.model, second)]
    assert.ok(a !== null && b !== null && b < a / 2, `${a} and ${b}`)
  })

  test('has a prefix that is long enough to be cached', () => {
    assert.ok(prefixTokensAtLeast() >= cacheFloorTokens, `${prefixTokensAtLeast()} tokens`)
    assert.ok(cacheFloorTokens >= 2_048)
  })

  test('rejects an answer that does not fit the schema', async () => {
    claude.confusedBy = 'They grind.'
    await assert.rejects(extractor.extract(unit, options), UnusableAnswer)
  })

  test('passes on the errors of the provider', async () => {
    claude.failNext(529)
    await assert.rejects(extractor.extract(unit, options), { status: 529 })
  })
})

describe('the price', () => {
  const usage = {
    inputTokens: 1_000_000,
    outputTokens: 100_000,
    cacheCreationInputTokens: 1_000_000,
    cacheReadInputTokens: 1_000_000,
  }

  test('is a quarter higher for writing to the cache, and a tenth for reading from it', () => {
    assert.equal(costOf('claude-haiku-4-5', usage), 1 + 1.25 + 0.1 + 0.5)
    assert.equal(costOf('claude-haiku-4-5-20251001', usage), 2.85)
  })

  test('of an unknown model is null', () => {
    assert.equal(costOf('another', usage), null)
  })
})

/** The extractor through Anthropic's own SDK, against a server that speaks its protocol. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'vitest'
import { ClaudeStandIn } from '../demo/claude-stand-in.ts'
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

let claude: ClaudeStandIn
let extractor: Extractor

beforeEach(async () => {
  claude = await ClaudeStandIn.start()
  extractor = claudeExtractor({ apiKey: 'test', baseUrl: claude.url, retriesMax: 0 })
})
afterEach(() => claude[Symbol.asyncDispose]())

describe('the extractor', () => {
  test('answers the groupings of the model', async () => {
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

  test('sends what never changes first, marked for the cache, and the unit after it', async () => {
    await extractor.extract(unit, options)
    await extractor.extract({ ...unit, path: ['Other'] }, options)
    const [first, second] = claude.requests
    assert.ok(first && second && Array.isArray(first.system))
    assert.deepEqual([first.tools, first.system], [second.tools, second.system])
    const [block] = first.system
    assert.deepEqual(block?.type === 'text' && block.cache_control, { type: 'ephemeral' })
    assert.deepEqual(first.tool_choice, { type: 'tool', name: 'record_groupings' })
    // An atom is one line, whatever it contains.
    assert.equal(
      first.messages[0]?.content,
      'Mills\n[7] heading: The wheel\n[8] paragraph: It turns. Always.\n' +
        '[9] heading: The stones\n[10] paragraph: They grind.',
    )
  })

  test('pays for writing the prefix once, and reads it from the cache after that', async () => {
    const { usage: first } = await extractor.extract(unit, options)
    const { usage: second } = await extractor.extract(unit, options)
    assert.ok(first.cacheCreationInputTokens >= cacheFloorTokens)
    assert.equal(first.cacheReadInputTokens, 0)
    assert.equal(second.cacheCreationInputTokens, 0)
    assert.equal(second.cacheReadInputTokens, first.cacheCreationInputTokens)
    const [a, b] = [costOf(options.model, first), costOf(options.model, second)]
    assert.ok(a !== null && b !== null && b < a / 2, `${a} and ${b}`)
  })

  test('has a prefix that is long enough to be cached, by a careful count', () => {
    assert.ok(prefixTokensAtLeast() >= cacheFloorTokens, `${prefixTokensAtLeast()} tokens`)
    assert.ok(cacheFloorTokens >= 2_048)
  })

  test('refuses an answer that is not in the form that was asked for', async () => {
    claude.confusedBy = 'They grind.'
    await assert.rejects(extractor.extract(unit, options), UnusableAnswer)
  })

  test('passes the errors of the provider on', async () => {
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

  test('counts writing to the cache a quarter more, and reading from it a tenth', () => {
    assert.equal(costOf('claude-haiku-4-5', usage), 1 + 1.25 + 0.1 + 0.5)
    assert.equal(costOf('claude-haiku-4-5-20251001', usage), 2.85)
  })

  test('of a model that is not in the table is not known', () => {
    assert.equal(costOf('another', usage), null)
  })
})

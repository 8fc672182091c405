/**
 * Counts tokens as the provider's prompt cache does. A long enough prefix up to the last cache mark is written
 * once, and is read from the cache until five minutes after its last use.
 */
import type { MessagesRequest } from './messages-request.ts'

export interface TokenCounts {
  readonly input_tokens: number
  readonly cache_creation_input_tokens: number
  readonly cache_read_input_tokens: number
}

const keptMs = 5 * 60_000
/** The highest minimum of all models. */
const floorTokens = 4_096
const charsPerToken = 4

export class PromptCache {
  readonly #usedAt = new Map<string, number>()

  count(request: MessagesRequest, now: number): TokenCounts {
    const { tools = [], system = [], messages } = request
    const prefix = JSON.stringify([tools, system])
    const tokens = tokensIn(prefix)
    const others = tokensIn(JSON.stringify(messages))
    const isMarked = typeof system !== 'string' && system.some(isMark)
    if (!isMarked || tokens < floorTokens) {
      const input_tokens = tokens + others
      return { input_tokens, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
    }
    const isKept = now - (this.#usedAt.get(prefix) ?? Number.NEGATIVE_INFINITY) < keptMs
    this.#usedAt.set(prefix, now)
    return {
      input_tokens: others,
      cache_creation_input_tokens: isKept ? 0 : tokens,
      cache_read_input_tokens: isKept ? tokens : 0,
    }
  }
}

function isMark(block: object): boolean {
  return 'cache_control' in block && block.cache_control !== undefined
}

function tokensIn(text: string): number {
  return Math.ceil(text.length / charsPerToken)
}

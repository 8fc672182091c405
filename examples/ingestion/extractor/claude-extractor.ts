/** Groups atoms with Claude, which returns the groups as the input of a tool. */
import Anthropic from '@anthropic-ai/sdk'
import { z } from 'zod'
import type { Unit } from '../stages/document-model.ts'
import type { Extraction, ExtractOptions, Extractor } from './extractor.ts'
import { groupingSystem, groupingTool, unitText } from './grouping-prompt.ts'

export interface ClaudeSettings {
  readonly apiKey: string
  /** Default: Anthropic's URL. */
  readonly baseUrl?: string
  /** Retries by the client itself, with growing waits. Default 2. */
  readonly retriesMax?: number
}

/** The output only has numbers and titles, so it is much shorter than the unit. */
const outputTokensMax = 4_096
const callTimeoutMs = 60_000

const Answer = z.object({
  groupings: z.array(
    z.object({
      atoms: z.array(z.int().min(0)).min(1),
      title: z.string().max(300),
      confidence: z.number().min(0).max(1),
    }),
  ),
})

export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer'
}

export function claudeExtractor(settings: ClaudeSettings): Extractor {
  const client = new Anthropic({
    apiKey: settings.apiKey,
    ...(settings.baseUrl !== undefined && { baseURL: settings.baseUrl }),
    maxRetries: settings.retriesMax ?? 2,
    timeout: callTimeoutMs,
  })
  return { extract: (unit, options) => extract(client, unit, options) }
}

async function extract(
  client: Anthropic,
  unit: Unit,
  { model, signal }: ExtractOptions,
): Promise<Extraction> {
  const message = await client.messages.create(
    {
      model,
      max_tokens: outputTokensMax,
      tools: [groupingTool],
      tool_choice: { type: 'tool', name: groupingTool.name },
      // The mark covers the whole prompt up to here, including the tool, which comes first.
      system: [{ type: 'text', text: groupingSystem, cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: unitText(unit.path, unit.atoms) }],
    },
    signal ? { signal } : {},
  )
  const { usage } = message
  return {
    groupings: groupingsIn(message),
    model,
    usage: {
      inputTokens: usage.input_tokens,
      outputTokens: usage.output_tokens,
      cacheCreationInputTokens: usage.cache_creation_input_tokens ?? 0,
      cacheReadInputTokens: usage.cache_read_input_tokens ?? 0,
    },
  }
}

function groupingsIn({ content, stop_reason }: Anthropic.Message): Extraction['groupings'] {
  // A truncated answer would silently lose groups.
  if (stop_reason === 'max_tokens') throw new UnusableAnswer('The answer was cut off.')
  const use = content.find((block) => block.type === 'tool_use' && block.name === groupingTool.name)
  const answer = Answer.safeParse(use?.type === 'tool_use' ? use.input : undefined)
  if (!answer.success) throw new UnusableAnswer('The answer does not fit the schema.')
  return answer.data.groupings
}

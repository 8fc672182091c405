/** Lets Claude write the answer. The model is told what was said and where the conversation stands. */
import Anthropic from '@anthropic-ai/sdk'
import type { ReplyWriter } from './reply-writer.ts'

export interface ClaudeSettings {
  readonly apiKey: string
  readonly baseUrl: string
  readonly model: string
}

const system =
  'You answer customers by messenger, in two or three friendly sentences, in their language. ' +
  'You promise nothing that you were not told.'

/** The queue tries again; there is no need to do it here as well. */
const patience = { maxRetries: 1, timeout: 60_000 } as const

export function claudeWriter({ apiKey, baseUrl, model }: ClaudeSettings): ReplyWriter {
  const client = new Anthropic({ apiKey, baseURL: baseUrl, ...patience })
  return {
    async write({ merged_body, channel_type, full_conversation_context }) {
      const { customer_name, current_step } = full_conversation_context
      const { content } = await client.messages.create({
        model,
        max_tokens: 400,
        system,
        messages: [
          {
            role: 'user',
            content: `Channel: ${channel_type}. Customer: ${customer_name}. Step: ${current_step}.\n\n${merged_body}`,
          },
        ],
      })
      const text = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('')
      if (text === '') throw new Error('The model answered without text.')
      return text
    },
  }
}

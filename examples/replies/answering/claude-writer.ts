/** Lets Claude write the answer. The model is told what was said and where the conversation stands. */
import { Claude, type ClaudeSettings } from '../../shared/claude.ts'
import type { ReplyWriter } from './reply-writer.ts'

const system =
  'You answer customers by messenger, in two or three friendly sentences, in their language. ' +
  'You promise nothing that you were not told.'

export function claudeWriter(settings: ClaudeSettings): ReplyWriter {
  // The queue tries again; there is no need to do it here as well.
  const claude = new Claude(settings, { maxRetries: 1, timeoutMs: 60_000 })
  return {
    async write({ merged_body, channel_type, full_conversation_context }) {
      const { customer_name, current_step } = full_conversation_context
      const facts = `Channel: ${channel_type}. Customer: ${customer_name}. Step: ${current_step}.`
      const prompt = `${facts}\n\n${merged_body}`
      return (await claude.write({ system, prompt, maxTokens: 400 })).answer
    },
  }
}

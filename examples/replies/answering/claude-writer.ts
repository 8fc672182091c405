/** Lets Claude write the reply, from the merged text and the current step of the conversation. */
import { Claude, type ClaudeSettings } from '../../shared/claude.ts'
import type { ReplyWriter } from './reply-writer.ts'

const system =
  'You answer customers by messenger, in two or three friendly sentences, in their language. ' +
  'You promise nothing that you were not told.'

export function claudeWriter(settings: ClaudeSettings): ReplyWriter {
  // The queue retries, so the client retries only once.
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

/** Writes the reply to a merged payload. */
import type { MergedPayload } from '../messages.ts'

export interface ReplyWriter {
  write(payload: MergedPayload): Promise<string>
}

/** Works without a network: repeats the customer's text and names the current step. */
export const offlineWriter: ReplyWriter = {
  write: async ({ merged_body, full_conversation_context: context }) => {
    const said = merged_body.replaceAll(/\s+/g, ' ').trim()
    const about = said.length > 100 ? `${said.slice(0, 100).trimEnd()}…` : said
    return [
      `Hello ${context.customer_name}, thank you for your message: "${about}".`,
      `We are at the step "${context.current_step}", and will be back with you soon.`,
    ].join(' ')
  },
}

/** The way back to the customer. An engine in production calls the providers here. */
import type { Channel } from '../messages.ts'

export interface Answer {
  readonly conversation_id: string
  /** The sids of the messages that it answers: together with the conversation, they make it unique. */
  readonly answers: string
  readonly channel_type: Channel
  /** Our line, and the customer. */
  readonly sender_id: string
  readonly recipient_id: string
  readonly body: string
}

export interface ReplyChannel {
  hasSent(conversationId: string, answers: string): Promise<boolean>
  /** A second answer to the same messages is not sent. */
  send(answer: Answer): Promise<void>
}

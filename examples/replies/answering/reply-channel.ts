/** Sends replies to customers. In production, implement this with calls to your providers. */
import type { Channel } from '../messages.ts'

export interface Answer {
  readonly conversation_id: string
  /** The ids of the messages that it replies to. With the conversation, they identify the reply. */
  readonly answers: string
  readonly channel_type: Channel
  /** Our number or address. */
  readonly sender_id: string
  readonly recipient_id: string
  readonly body: string
}

export interface ReplyChannel {
  hasSent(conversationId: string, answers: string): Promise<boolean>
  /** Sends one reply per set of messages; a repeated call does nothing. */
  send(answer: Answer): Promise<void>
}

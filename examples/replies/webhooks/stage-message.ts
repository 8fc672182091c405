/**
 * Finds the conversation of an incoming message, applies the rules, and adds the message to the collector.
 * The result has everything that the webhook returns to the provider.
 */
import type { ConversationStore, RefusedMessage } from '../conversations/conversation-store.ts'
import { applyRules } from '../conversations/rules.ts'
import type { RepliesMill } from '../open-replies.ts'
import type { IncomingMessage } from './incoming-message.ts'

export type StagingResult =
  | { readonly status: 'staged' | 'duplicate'; readonly conversationId: string }
  | {
      readonly status: RefusedMessage['because']
      /** Null if the conversation is unknown. */
      readonly conversationId: string | null
    }

export interface StagingSetup {
  readonly mill: RepliesMill
  readonly conversations: ConversationStore
  readonly now: () => Date
}

export async function stageMessage(
  { mill, conversations, now }: StagingSetup,
  message: IncomingMessage,
): Promise<StagingResult> {
  const { sid, channel, sender, recipient, body } = message
  const receivedAt = now().toISOString()
  const conversation = conversations.find(channel, sender, recipient)
  const refuse = (because: RefusedMessage['because']): StagingResult => {
    conversations.noteRefused({ message_sid: sid, channel_type: channel, because, at: receivedAt })
    return { status: because, conversationId: conversation?.conversation_id ?? null }
  }
  if (conversation === undefined) return refuse('unknown_conversation')
  const result = applyRules(conversation, body)
  if (!result.accepted) return refuse(result.because)
  const { project_id, company_id, thread_id, customer_name, current_step } = conversation
  const { window_seconds } = conversation
  const { status } = await mill.collectors.conversations.add(
    {
      conversation_id: conversation.conversation_id,
      message_sid: sid,
      body,
      channel_type: channel,
      sender_id: sender,
      recipient_id: recipient,
      received_at: receivedAt,
      handoff_reason: result.handoffReason,
      context: { project_id, company_id, thread_id, customer_name, current_step },
    },
    window_seconds === null ? {} : { window: `${window_seconds}s` as const },
  )
  return { status, conversationId: conversation.conversation_id }
}

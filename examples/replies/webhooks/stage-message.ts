/**
 * From a message that somebody wrote to an item of its conversation: looked up, judged by the rules, and
 * staged. Everything that a provider needs to be told is in the answer.
 */
import type { ConversationBook, RefusedMessage } from '../conversations/conversation-book.ts'
import { judge } from '../conversations/rules.ts'
import type { RepliesMill } from '../open-replies.ts'
import type { IncomingMessage } from './incoming-message.ts'

export type StagingResult =
  | { readonly status: 'staged' | 'duplicate'; readonly conversationId: string }
  | {
      readonly status: RefusedMessage['because']
      /** Null when nobody knows the conversation. */
      readonly conversationId: string | null
    }

export interface StagingSetup {
  readonly mill: RepliesMill
  readonly book: ConversationBook
  readonly now: () => Date
}

export async function stageMessage(
  { mill, book, now }: StagingSetup,
  message: IncomingMessage,
): Promise<StagingResult> {
  const { sid, channel, sender, recipient, body } = message
  const receivedAt = now().toISOString()
  const conversation = book.find(channel, sender, recipient)
  const refuse = (because: RefusedMessage['because']): StagingResult => {
    book.noteRefused({ message_sid: sid, channel_type: channel, because, at: receivedAt })
    return { status: because, conversationId: conversation?.conversation_id ?? null }
  }
  if (conversation === undefined) return refuse('unknown_conversation')
  const verdict = judge(conversation, body)
  if (!verdict.accepted) return refuse(verdict.because)
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
      handoff_reason: verdict.handoffReason,
      context: { project_id, company_id, thread_id, customer_name, current_step },
    },
    window_seconds === null ? {} : { window: `${window_seconds}s` as const },
  )
  return { status, conversationId: conversation.conversation_id }
}

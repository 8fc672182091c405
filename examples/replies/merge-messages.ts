/** Merges the messages of a conversation into one payload, and chooses its queue. */
import type { Channel, HandoffReason, MergedPayload, StagedMessage } from './messages.ts'

/** The messages are in order. Sender, recipient and channel are those of the first. */
export function mergeMessages(messages: readonly StagedMessage[]): MergedPayload {
  const first = messages[0]
  const last = messages.at(-1)
  if (first === undefined || last === undefined)
    throw new Error('Expected at least one message to merge.')
  return {
    conversation_id: first.conversation_id,
    merged_body: messages.map(({ body }) => body).join('\n'),
    channel_type: first.channel_type,
    sender_id: first.sender_id,
    recipient_id: first.recipient_id,
    first_message_received_at: first.received_at,
    last_message_received_at: last.received_at,
    message_sids: messages.map(({ message_sid }) => message_sid),
    handoff_reason: reasonOf(messages),
    // The context of the last message is the most recent.
    full_conversation_context: last.context,
  }
}

/** One message that asks for a person is enough. */
export function targetOf(messages: readonly StagedMessage[]): Channel | 'handoff' {
  if (reasonOf(messages) !== null) return 'handoff'
  return messages[0]?.channel_type ?? 'handoff'
}

function reasonOf(messages: readonly StagedMessage[]): HandoffReason | null {
  return messages.find(({ handoff_reason }) => handoff_reason !== null)?.handoff_reason ?? null
}

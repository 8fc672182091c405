/** Replies to one merged payload. A repeated delivery sends no second reply. */
import type { MergedPayload } from '../messages.ts'
import type { ReplyChannel } from './reply-channel.ts'
import type { ReplyWriter } from './reply-writer.ts'

export interface AnsweringSetup {
  readonly writer: ReplyWriter
  readonly channel: ReplyChannel
}

export async function answerPayload(
  { writer, channel }: AnsweringSetup,
  payload: MergedPayload,
): Promise<void> {
  const { conversation_id, channel_type, sender_id, recipient_id, message_sids } = payload
  const answers = message_sids.join(' ')
  // Check first: a model call costs money, and a second reply confuses the customer.
  if (await channel.hasSent(conversation_id, answers)) return
  const body = await writer.write(payload)
  // The reply goes from the number or address that the customer wrote to, back to the customer.
  const ends = { sender_id: recipient_id, recipient_id: sender_id }
  await channel.send({ conversation_id, answers, channel_type, ...ends, body })
}

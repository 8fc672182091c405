/** Answers one merged payload: once, however often it is delivered. */
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
  // An answer is dear to write, and nobody wants to read a second one.
  if (await channel.hasSent(conversation_id, answers)) return
  const body = await writer.write(payload)
  // It goes back: from the line that was written to, to whoever wrote.
  const ends = { sender_id: recipient_id, recipient_id: sender_id }
  await channel.send({ conversation_id, answers, channel_type, ...ends, body })
}

/** Turns what a provider posts into one common form. */
import { z } from 'zod'
import type { Channel } from '../messages.ts'

export interface IncomingMessage {
  readonly sid: string
  readonly channel: Channel
  /** Telephone numbers with their channel, or e-mail addresses. */
  readonly sender: string
  readonly recipient: string
  readonly body: string
}

const sid = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[\x21-\x7e]+$/)

/**
 * Replaces characters that XML 1.0, and therefore SQS, does not allow. One pasted character must not stop
 * the whole conversation.
 */
const sendable = (text: string): string =>
  text.toWellFormed().replaceAll(/[^\t\n\r\u{20}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}')

const TwilioForm = z.object({
  MessageSid: sid(64),
  From: z.string().min(1).max(128),
  To: z.string().min(1).max(128),
  /** Empty for a picture without text. */
  Body: z.string().max(16_000).transform(sendable),
})

const EmailPost = z.object({
  message_id: sid(256),
  from: z.email().max(254).toLowerCase(),
  to: z.email().max(254).toLowerCase(),
  text: z.string().max(64_000).transform(sendable),
})

/** Undefined if fields are missing or wrong. */
export function fromTwilio(
  channel: Extract<Channel, 'whatsapp' | 'sms'>,
  fields: Readonly<Record<string, string>>,
): IncomingMessage | undefined {
  const { success, data } = TwilioForm.safeParse(fields)
  if (!success) return undefined
  return {
    sid: data.MessageSid,
    channel,
    sender: data.From,
    recipient: data.To,
    body: data.Body,
  }
}

export function fromEmail(post: unknown): IncomingMessage | undefined {
  const { success, data } = EmailPost.safeParse(post)
  if (!success) return undefined
  const { message_id, from, to, text } = data
  return { sid: message_id, channel: 'email', sender: from, recipient: to, body: text }
}

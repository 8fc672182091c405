/** The schemas of all messages in the queues. */
import { z } from 'zod'

export const channels = ['whatsapp', 'sms', 'email'] as const
export type Channel = (typeof channels)[number]

/** Why a person handles the conversation. */
export const handoffReasons = ['user_requested', 'auto_queued'] as const
export type HandoffReason = (typeof handoffReasons)[number]

/** A trigger contains only the conversation. */
export const Trigger = z.strictObject({ conversation_id: z.string().min(1) })

/** What a reply needs to know about the conversation. */
export const ConversationContext = z.object({
  project_id: z.string(),
  company_id: z.string(),
  thread_id: z.string(),
  customer_name: z.string(),
  current_step: z.string(),
})

/** One message of a customer, with its conversation and rules already looked up. */
export const StagedMessage = z.object({
  conversation_id: z.string().min(1),
  message_sid: z.string().min(1),
  body: z.string(),
  channel_type: z.enum(channels),
  sender_id: z.string(),
  recipient_id: z.string(),
  received_at: z.iso.datetime(),
  handoff_reason: z.enum(handoffReasons).nullable(),
  context: ConversationContext,
})

export const MergedPayload = z.object({
  conversation_id: z.string(),
  merged_body: z.string(),
  channel_type: z.enum(channels),
  sender_id: z.string(),
  recipient_id: z.string(),
  first_message_received_at: z.iso.datetime(),
  last_message_received_at: z.iso.datetime(),
  message_sids: z.array(z.string()).min(1),
  handoff_reason: z.enum(handoffReasons).nullable(),
  full_conversation_context: ConversationContext,
})

export type StagedMessage = z.infer<typeof StagedMessage>
export type MergedPayload = z.infer<typeof MergedPayload>
export type ConversationContext = z.infer<typeof ConversationContext>

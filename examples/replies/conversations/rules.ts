/** What may be answered, and by whom: rules about one message of a conversation. */
import type { HandoffReason } from '../messages.ts'
import type { Conversation } from './conversation-book.ts'

export type Refusal = 'project_inactive' | 'channel_not_allowed'

export type Verdict =
  | { readonly accepted: true; readonly handoffReason: HandoffReason | null }
  | { readonly accepted: false; readonly because: Refusal }

const somebody = '(?:human(?: being)?|(?:real )?person|agent|representative|operator)'
/** A person too many costs less than one too few, so it need not be exact. */
const asksForPerson: readonly RegExp[] = [
  new RegExp(
    `\\b(?:talk|speak|chat|connect|transfer|through|call|want|need|get)\\b[^.!?\\n]{0,40}\\b${somebody}\\b`,
    'i',
  ),
  new RegExp(`^\\W*(?:an? )?${somebody}\\W*(?:please)?\\W*$`, 'im'),
]

export function judge(conversation: Conversation, body: string): Verdict {
  const { project_active, allowed_channels, channel_type, auto_queue } = conversation
  if (!project_active) return { accepted: false, because: 'project_inactive' }
  if (!allowed_channels.includes(channel_type)) {
    return { accepted: false, because: 'channel_not_allowed' }
  }
  const isAsked = asksForPerson.some((pattern) => pattern.test(body))
  if (isAsked) return { accepted: true, handoffReason: 'user_requested' }
  return { accepted: true, handoffReason: auto_queue ? 'auto_queued' : null }
}

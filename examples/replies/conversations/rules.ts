/** Decides whether a message is accepted, and whether a person must reply to it. */
import type { HandoffReason } from '../messages.ts'
import type { Conversation } from './conversation-store.ts'

export type Refusal = 'project_inactive' | 'channel_not_allowed'

export type RulesResult =
  | { readonly accepted: true; readonly handoffReason: HandoffReason | null }
  | { readonly accepted: false; readonly because: Refusal }

const person = '(?:human(?: being)?|(?:real )?person|agent|representative|operator)'
/** Matches loosely: a handoff too many costs less than a missed one. */
const handoffRequests: readonly RegExp[] = [
  new RegExp(
    `\\b(?:talk|speak|chat|connect|transfer|through|call|want|need|get)\\b[^.!?\\n]{0,40}\\b${person}\\b`,
    'i',
  ),
  new RegExp(`^\\W*(?:an? )?${person}\\W*(?:please)?\\W*$`, 'im'),
]

export function applyRules(conversation: Conversation, body: string): RulesResult {
  const { project_active, allowed_channels, channel_type, auto_queue } = conversation
  if (!project_active) return { accepted: false, because: 'project_inactive' }
  if (!allowed_channels.includes(channel_type)) {
    return { accepted: false, because: 'channel_not_allowed' }
  }
  const isAsked = handoffRequests.some((pattern) => pattern.test(body))
  if (isAsked) return { accepted: true, handoffReason: 'user_requested' }
  return { accepted: true, handoffReason: auto_queue ? 'auto_queued' : null }
}

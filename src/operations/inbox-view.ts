/** Inbox items as all surfaces show them. Field names are API. */
import type { InboxCounts, InboxEvent } from '../backends/inbox-store.ts'
import { isoTime } from '../core/iso-time.ts'
import type { InboxItem } from './inbox.ts'
import { jsonOf, maskMessage } from './mask-payload.ts'
import { type AttributeView, attributesView, type DeadLetterView } from './message-view.ts'

export interface InboxItemView extends Pick<InboxItem, 'id' | 'state' | 'group' | 'notes'> {
  /** The parsed body, or the body itself if it is not JSON. */
  readonly message: unknown
  readonly attributes: Readonly<Record<string, AttributeView>>
  readonly sent_at: string
  readonly receive_count: number
  readonly dead_letter: DeadLetterView | null
  readonly claim: ClaimView | null
}

export interface ClaimView {
  readonly by: string
  readonly at: string
  readonly until: string
  readonly token: number
}

export interface InboxEventView extends Pick<InboxEvent, 'event' | 'by' | 'note'> {
  readonly at: string
}

/** The counts of the three tabs. */
export interface InboxCountsView {
  readonly mine: number
  readonly unassigned: number
  readonly all: number
}

/** @param hidden masked paths in the message */
export function inboxItemView(item: InboxItem, hidden: readonly string[] = []): InboxItemView {
  const { id, state, group, notes, claim, deadLetterOrigin: origin } = item
  return {
    id,
    state,
    message: maskMessage(jsonOf(item.body), hidden),
    attributes: attributesView(item.attributes),
    group,
    sent_at: isoTime(item.sentAt),
    receive_count: item.receiveCount,
    dead_letter: origin && { ...origin, at: isoTime(origin.at) },
    claim: claim && { ...claim, at: isoTime(claim.at), until: isoTime(claim.until) },
    notes,
  }
}

export function inboxEventView({ event, by, note, at }: InboxEvent): InboxEventView {
  return { event, by, at: isoTime(at), note }
}

export function inboxCountsView(counts: InboxCounts): InboxCountsView {
  const { waiting, claimed, mine, leased } = counts
  return { mine, unassigned: waiting, all: waiting + claimed + leased }
}

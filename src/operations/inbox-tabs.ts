/** The three views of an inbox, named as in shared mailboxes. */
import type { ListInboxOptions } from './inbox.ts'

export const inboxTabs = ['mine', 'unassigned', 'all'] as const

export type InboxTab = (typeof inboxTabs)[number]

/** @param by the person who looks */
export function tabOptions(tab: InboxTab, by: string): Pick<ListInboxOptions, 'by' | 'state'> {
  switch (tab) {
    case 'mine':
      return { by }
    case 'unassigned':
      return { state: 'waiting' }
    case 'all':
      return {}
  }
}

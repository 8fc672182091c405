/** The inboxes that the API offers: those of the served app, or without an app all queues of the store. */
import { hiddenPathsOf } from '../../contracts/hidden-paths.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { Inbox, InboxItem } from '../../operations/inbox.ts'
import { type InboxItemView, inboxItemView } from '../../operations/inbox-view.ts'
import type { ServedApp, Services } from '../services.ts'
import type { ApiSettings } from './api-options.ts'
import { ApiProblem } from './api-problem.ts'

export interface KnownInbox {
  readonly inbox: Inbox
  /** An item as the API returns it, without secret and personal fields. */
  show(item: InboxItem): InboxItemView
}

export interface InboxContext {
  /** @param queue its key in the app, or its name on the backend */
  find(queue: string): KnownInbox
  readonly settings: ApiSettings
}

export function appInboxes(mill: ServedApp, settings: ApiSettings): InboxContext {
  const { queues: handles, app } = mill
  const keys = Object.keys(handles)
  return {
    settings,
    find: (text) => {
      const key =
        keys.find((one) => one === text) ?? keys.find((one) => handles[one]?.name === text)
      const queue = key === undefined ? undefined : app.queues[key]
      if (key === undefined || queue === undefined) throw unknownQueue(keys)
      return knownInbox(mill.inbox(key), hiddenPathsOf(queue))
    },
  }
}

/** Without an app there are no contracts, so no fields are hidden. */
export function storeInboxes(
  services: Pick<Services, 'inbox'>,
  settings: ApiSettings,
): InboxContext {
  return { settings, find: (queue) => knownInbox(services.inbox(queue), []) }
}

function knownInbox(inbox: Inbox, hidden: readonly string[]): KnownInbox {
  return {
    inbox,
    show: (item) => inboxItemView(item, hidden),
  }
}

/** @param keys of the existing queues, if the caller may know them */
export function unknownQueue(keys: readonly string[] = []): ApiProblem {
  const expected = keys.length === 0 ? 'a queue that exists' : `one of ${keys.join(', ')}`
  return new ApiProblem('not_found', { errors: [{ field: 'queue', expected }] })
}

/** Elsewhere a missing queue is a fault of the server; here the caller has named it. */
export async function foundQueue<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    const isMissing = error instanceof MillraceError && error.code === 'queue_not_found'
    throw isMissing ? unknownQueue() : error
  }
}

/** Checks every argument about handoff, as checked-backend.ts does for messages. */
import { checkSwitchNames } from '../core/check-queue-controls.ts'
import {
  checkOneOf,
  checkRange,
  checkText,
  describeGiven,
  type Violations,
} from '../core/checks.ts'
import { limits, type Range } from '../core/limits.ts'
import { check } from './checking.ts'
import type { InboxItemId, InboxStore } from './inbox-store.ts'

export function checkedInboxStore(store: InboxStore): InboxStore {
  return {
    list: async (request) => {
      check((into) => {
        if (request.by !== undefined) checkPerson(into, request.by)
        if (request.state !== undefined) {
          checkOneOf(into, 'state', request.state, ['waiting', 'claimed'])
        }
        checkRange(into, 'limit', request.limit, limits.pageSize)
      })
      return store.list(request)
    },
    counts: async (request) => {
      check((into) => {
        if (request.by !== undefined) checkPerson(into, request.by)
      })
      return store.counts(request)
    },
    read: async (request) => {
      check((into) => checkId(into, request.id))
      return store.read(request)
    },
    claim: async (request) => {
      check((into) => {
        if (request.id !== undefined) checkId(into, request.id)
        checkPerson(into, request.by)
        checkOptions(into, request)
        if (request.heldNames !== undefined) checkSwitchNames(into, 'heldNames', request.heldNames)
      })
      return store.claim(request)
    },
    renew: async (request) => {
      check((into) => checkHeld(into, request))
      return store.renew(request)
    },
    note: async (request) => {
      check((into) => {
        checkId(into, request.id)
        checkPerson(into, request.by)
        checkText(into, 'note', request.note, limits.inboxNoteLength)
      })
      return store.note(request)
    },
    resolve: async (request) => {
      check((into) => {
        checkHeld(into, request)
        const count = request.emits?.length ?? 0
        if (count > 0) checkRange(into, 'emits.length', count, limits.messagesPerCall)
      })
      return store.resolve(request)
    },
    giveBack: async (request) => {
      check((into) => checkHeld(into, request))
      return store.giveBack(request)
    },
    history: async (request) => {
      check((into) => checkId(into, request.id))
      return store.history(request)
    },
    used: () => store.used(),
  }
}

/** What several requests may have. */
interface Options {
  readonly leaseMs?: number
  readonly token?: number
  readonly note?: string
}

function checkHeld(
  into: Violations,
  request: InboxItemId & Options & { readonly by: string },
): void {
  checkId(into, request.id)
  checkPerson(into, request.by)
  checkOptions(into, request)
}

function checkOptions(into: Violations, { leaseMs, token, note }: Options): void {
  if (leaseMs !== undefined) checkRange(into, 'leaseMs', leaseMs, limits.inboxLeaseMs)
  if (token !== undefined && !(Number.isSafeInteger(token) && token >= 0)) {
    into.push({ field: 'token', given: describeGiven(token), allowed: 'the token of a claim' })
  }
  if (note !== undefined) checkText(into, 'note', note, limits.inboxNoteLength)
}

const idLength: Range = { min: 1, max: 128, unit: 'characters' }

function checkPerson(into: Violations, by: unknown): void {
  checkText(into, 'by', by, limits.inboxByLength)
}

function checkId(into: Violations, id: unknown): void {
  checkText(into, 'id', id, idLength)
}

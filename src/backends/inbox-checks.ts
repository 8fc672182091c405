/** Checks of arguments about handoff. */
import { checkSwitchNames } from '../core/check-queue-controls.ts'
import {
  checkOneOf,
  checkRange,
  checkText,
  describeGiven,
  type Violations,
} from '../core/checks.ts'
import { limits, type Range } from '../core/limits.ts'
import type { Checks } from './checking.ts'
import type { InboxItemId, InboxStore } from './inbox-store.ts'

export const inboxChecks: Checks<InboxStore> = {
  list: (into, request) => {
    if (request.by !== undefined) checkPerson(into, request.by)
    if (request.state !== undefined) {
      checkOneOf(into, 'state', request.state, ['waiting', 'claimed'])
    }
    checkRange(into, 'limit', request.limit, limits.pageSize)
  },
  counts: (into, request) => {
    if (request.by !== undefined) checkPerson(into, request.by)
  },
  read: (into, request) => checkId(into, request.id),
  claim: (into, request) => {
    if (request.id !== undefined) checkId(into, request.id)
    checkPerson(into, request.by)
    checkOptions(into, request)
    if (request.heldNames !== undefined) checkSwitchNames(into, 'heldNames', request.heldNames)
  },
  renew: checkHeld,
  note: (into, request) => {
    checkId(into, request.id)
    checkPerson(into, request.by)
    checkText(into, 'note', request.note, limits.inboxNoteLength)
  },
  resolve: (into, request) => {
    checkHeld(into, request)
    const count = request.emits?.length ?? 0
    if (count > 0) checkRange(into, 'emits.length', count, limits.messagesPerCall)
  },
  release: checkHeld,
  history: (into, request) => checkId(into, request.id),
  used: null,
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

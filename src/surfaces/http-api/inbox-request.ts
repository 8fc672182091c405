/** Reads requests about inboxes. Checks their form; the store checks their limits. */
import { checkOneOf, type Violations } from '../../core/checks.ts'
import type { Duration } from '../../core/durations.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import type { ListInboxOptions } from '../../operations/inbox.ts'
import { inboxTabs, tabOptions } from '../../operations/inbox-tabs.ts'
import { ApiProblem } from './api-problem.ts'
import type { Caller } from './caller.ts'
import { type FieldKinds, readFields } from './read-fields.ts'
import { type Query, readPageSize, readQuery } from './read-query.ts'

/** The last part of the path. */
export type InboxAction = 'claim' | 'renew' | 'note' | 'resolve' | 'release'

/** All fields of action bodies. Each action accepts some of them. */
export interface InboxFields {
  readonly by?: string
  readonly id?: string
  readonly for?: Duration
  readonly note?: string
  readonly token?: number
}

const fieldsOf: Readonly<Record<InboxAction, FieldKinds>> = {
  claim: { by: 'text', id: 'text', for: 'text' },
  renew: { by: 'text', for: 'text', token: 'number' },
  note: { by: 'text', note: 'text' },
  resolve: { by: 'text', note: 'text', token: 'number' },
  release: { by: 'text', note: 'text', token: 'number' },
}

export type InboxRequest = InboxFields & { readonly by: string }

export function readInboxAction(action: InboxAction, body: unknown, caller: Caller): InboxRequest {
  const given: InboxFields = readFields(body, fieldsOf[action])
  return { ...given, by: personOf(caller, given.by) }
}

export interface InboxListRequest {
  /** The person whose claims are `mine`. */
  readonly by: string
  readonly options: ListInboxOptions & { readonly limit: number }
}

export function readInboxList(query: Query, caller: Caller): InboxListRequest {
  const value = readQuery(query, ['tab', 'by', 'limit', 'after'])
  const violations: Violations = []
  const limit = readPageSize(violations, value('limit'))
  const asked = value('tab') ?? 'all'
  const tab = inboxTabs.find((one) => one === asked)
  if (tab === undefined) checkOneOf(violations, 'tab', asked, inboxTabs)
  if (violations.length > 0) throw MillraceError.invalid(violations)
  const by = personOf(caller, value('by'))
  const after = value('after')
  return {
    by,
    options: {
      limit,
      ...(after !== undefined && { after }),
      ...tabOptions(tab ?? 'all', by),
    },
  }
}

/** Callers act as themselves. Admins may name another person, for example from their own web page. */
function personOf({ role, signature }: Caller, by: string | undefined): string {
  if (by === undefined || by === signature) return signature
  if (role !== 'admin') throw new ApiProblem('forbidden')
  return by
}

/**
 * An inbox is a queue whose messages people claim, one by one and under their names. A claim is a lease: it
 * expires, and only its holder can resolve the message.
 */

import type {
  Backend,
  DeadLetterOrigin,
  LeaseRefusal,
  MessageAttribute,
  Page,
} from '../backends/backend.ts'
import type {
  ClaimResult,
  InboxClaim,
  InboxCounts,
  InboxEvent,
  InboxItemRecord,
  InboxItemState,
  InboxResult,
  InboxStore,
} from '../backends/inbox-store.ts'
import { contractOf } from '../contracts/contract-of.ts'
import { isJobsQueue, type JobsQueue } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue, MessageOutput, MessageSchema } from '../contracts/queue-declaration.ts'
import { type Duration, durationMs } from '../core/durations.ts'
import { limits } from '../core/limits.ts'
import { type OptionNames, refuseUnknownOptions } from '../core/options.ts'
import { supported } from '../core/supported.ts'
import type { PreparedMessage } from '../producer/queue-producer.ts'
import { readMessage } from '../receiving/read-message.ts'

/** The type of messages in the inbox of a queue. A job has the form of its own type. */
export type InboxMessage<Queue> = [Queue] extends [JobsQueue]
  ? unknown
  : Queue extends DeclaredQueue
    ? MessageOutput<Queue>
    : unknown

export interface Inbox<Message = unknown> {
  /** The queue's name in the store. */
  readonly queue: string
  /** Waiting and claimed messages, oldest first. */
  list(options?: ListInboxOptions): Promise<Page<InboxItem<Message>>>
  /** The number of waiting and claimed messages, and of those claimed by one person. */
  counts(options?: { readonly by?: string }): Promise<InboxCounts>
  read(id: string): Promise<InboxItem<Message> | undefined>
  /** Claims a message, by default the oldest one. Does not change a claim that the person already has. */
  claim(options: ClaimItemOptions): Promise<ClaimedItem<Message>>
  /** Extends a claim. With all renewals, a claim lasts at most 12 hours. */
  renew(id: string, options: RenewItemOptions): Promise<HandledItem<Message>>
  /** Adds a note, with or without a claim. */
  note(
    id: string,
    options: { readonly by: string; readonly note: string },
  ): Promise<HandledItem<Message>>
  /** Acknowledges the message. Its history is kept for 90 days. */
  resolve(id: string, options: ResolveItemOptions): Promise<HandledItem<Message>>
  /** Ends the claim. The message waits again in its old place, and the receive does not count. */
  release(id: string, options: EndItemOptions): Promise<HandledItem<Message>>
  /** The history of a message, oldest first, also after it was resolved. */
  history(id: string): Promise<readonly InboxEvent[]>
}

export interface ListInboxOptions {
  /** Only claims of this person. */
  readonly by?: string
  /** Default: both, and messages leased by unnamed receivers. */
  readonly state?: 'waiting' | 'claimed'
  /** Items per page, 1 to 1000. Default: 20. */
  readonly limit?: number
  /** The `next` of the previous page. */
  readonly after?: string
}

export interface ClaimItemOptions {
  /** The person. */
  readonly by: string
  /** Default: the oldest waiting message. */
  readonly id?: string
  /** From 1s to 12h. Default: the queue's visibility timeout. */
  readonly for?: Duration
}

interface HolderOptions {
  readonly by: string
  /** The token of the claim. Default: the present claim of this person. */
  readonly token?: number
}

export interface RenewItemOptions extends HolderOptions {
  /** From now, 1s to 12h. Default: the queue's visibility timeout. */
  readonly for?: Duration
}

export interface EndItemOptions extends HolderOptions {
  /** The decision, or the reason for returning the message. */
  readonly note?: string
}

export interface ResolveItemOptions extends EndItemOptions {
  /** Messages to send in the same commit. Create them with `prepare` of a queue. */
  readonly emits?: readonly PreparedMessage[]
}

export interface InboxItem<Message = unknown> {
  readonly id: string
  /** `leased`: leased by an unnamed receiver. `delayed`: not ready yet, and in no list. */
  readonly state: InboxItemState
  /** Undefined if the body does not match the contract. */
  readonly message: Message | undefined
  /** The body as sent. */
  readonly body: string
  readonly attributes: Readonly<Record<string, MessageAttribute>>
  readonly group: string | null
  readonly sentAt: number
  readonly receiveCount: number
  readonly deadLetterOrigin: DeadLetterOrigin | null
  readonly claim: InboxClaim | null
  /** The number of notes. */
  readonly notes: number
}

export type ClaimedItem<Message = unknown> =
  | { readonly status: 'claimed'; readonly item: InboxItem<Message> }
  | Exclude<ClaimResult, { readonly status: 'claimed' }>

/** A claim that has ended is a result and not an error, because it is an ordinary case. */
export type HandledItem<Message = unknown> =
  /** Null after the item was resolved. */
  | { readonly status: 'done'; readonly item: InboxItem<Message> | null }
  | Exclude<InboxResult, { readonly status: 'done' }>

export interface InboxSetup {
  readonly backend: Pick<Backend, 'inboxes'>
  /** The queue's name in the store. */
  readonly name: string
  /** Without a declaration, every JSON body is a message. */
  readonly declared?: DeclaredQueue | undefined
  /** Names of kill switches that the environment of this process turns on. */
  readonly heldNames?: readonly string[]
}

const defaultPageSize = 20

const countOptions: OptionNames<{ by: string }> = { by: true }
const noteOptions: OptionNames<{ by: string; note: string }> = { by: true, note: true }
const listOptions: OptionNames<ListInboxOptions> = {
  by: true,
  state: true,
  limit: true,
  after: true,
}
const claimOptions: OptionNames<ClaimItemOptions> = { by: true, id: true, for: true }
const renewOptions: OptionNames<RenewItemOptions> = { by: true, token: true, for: true }
const endOptions: OptionNames<EndItemOptions> = { by: true, token: true, note: true }
const resolveOptions: OptionNames<ResolveItemOptions> = { ...endOptions, emits: true }

export function createInbox(setup: InboxSetup): Inbox {
  const { backend, name: queue, heldNames = [] } = setup
  const schema = schemaOf(setup)
  const store = (): InboxStore => supported(backend.inboxes)
  const held = heldNames.length > 0 && { heldNames }
  return {
    queue,
    list: async (options = {}) => {
      refuseUnknownOptions(options, listOptions)
      const limit = options.limit ?? defaultPageSize
      const { items, next } = await store().list({ queue, ...options, limit })
      const read = await Promise.all(items.map((record) => itemOf(record, schema)))
      return next === undefined ? { items: read } : { items: read, next }
    },
    counts: async (options = {}) => {
      refuseUnknownOptions(options, countOptions)
      return store().counts({ queue, ...options })
    },
    read: async (id) => {
      const record = await store().read({ queue, id })
      return record && itemOf(record, schema)
    },
    claim: async (options) => {
      refuseUnknownOptions(options, claimOptions)
      const { for: lasting, ...others } = options
      const request = { queue, ...others, ...leaseOf(lasting), ...held }
      return claimedOf(await store().claim(request), schema)
    },
    renew: async (id, options) => {
      refuseUnknownOptions(options, renewOptions)
      const { for: lasting, ...others } = options
      return handledOf(await store().renew({ queue, id, ...others, ...leaseOf(lasting) }), schema)
    },
    note: async (id, options) => {
      refuseUnknownOptions(options, noteOptions)
      return handledOf(await store().note({ queue, id, ...options }), schema)
    },
    resolve: async (id, options) => {
      refuseUnknownOptions(options, resolveOptions)
      const { emits = [], ...others } = options
      const emitted = await Promise.all(emits.map((message) => message.toEmitted()))
      return handledOf(await store().resolve({ queue, id, ...others, emits: emitted }), schema)
    },
    release: async (id, options) => {
      refuseUnknownOptions(options, endOptions)
      return handledOf(await store().release({ queue, id, ...options }), schema)
    },
    history: async (id) => store().history({ queue, id }),
  }
}

/** Jobs have one schema per type, and their bodies do not contain the type. */
function schemaOf({ declared }: InboxSetup): MessageSchema | undefined {
  return declared === undefined || isJobsQueue(declared) ? undefined : contractOf(declared)
}

function leaseOf(lasting: Duration | undefined): { readonly leaseMs?: number } {
  return lasting === undefined ? {} : { leaseMs: durationMs(lasting, 'for', limits.inboxLeaseMs) }
}

async function itemOf(
  { message, state, claim, notes }: InboxItemRecord,
  schema: MessageSchema | undefined,
): Promise<InboxItem> {
  const { id, body, attributes, group, sentAt, receiveCount, deadLetterOrigin } = message
  const read = await readMessage(schema, body)
  return {
    id,
    state,
    message: read.status === 'read' ? read.message : undefined,
    body,
    attributes,
    group,
    sentAt,
    receiveCount,
    deadLetterOrigin,
    claim,
    notes,
  }
}

async function claimedOf(
  result: ClaimResult,
  schema: MessageSchema | undefined,
): Promise<ClaimedItem> {
  if (result.status !== 'claimed') return result
  return { status: 'claimed', item: await itemOf(result.item, schema) }
}

async function handledOf(
  result: InboxResult,
  schema: MessageSchema | undefined,
): Promise<HandledItem> {
  if (result.status !== 'done') return result
  const { item } = result
  return { status: 'done', item: item && (await itemOf(item, schema)) }
}

/** A sentence that explains why a claim cannot be used. */
export function claimRefusal(refusal: Exclude<InboxResult, { readonly status: 'done' }>): string {
  return refusal.status === 'not_yours' ? notYours(refusal.holder) : refusalTexts[refusal.status]
}

function notYours(holder: string | null): string {
  return holder === null
    ? 'You have not claimed this message.'
    : `${holder} has claimed this message.`
}

const refusalTexts: Readonly<Record<LeaseRefusal, string>> = {
  gone: 'The message no longer exists.',
  lapsed: 'Your claim has expired. Claim the message again.',
  stale: 'The token belongs to an earlier claim.',
}

/**
 * An inbox is a queue whose messages people take, one by one and under their names. A claim is a
 * lease: who does not act in time has to claim again, and nobody decides what another one has.
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

/** What people find in the inbox of a queue; a job has the form of its own type. */
export type InboxMessage<Queue> = [Queue] extends [JobsQueue]
  ? unknown
  : Queue extends DeclaredQueue
    ? MessageOutput<Queue>
    : unknown

export interface Inbox<Message = unknown> {
  /** The queue's name on the backend. */
  readonly queue: string
  /** What waits or is in somebody's hands, oldest first. */
  list(options?: ListInboxOptions): Promise<Page<InboxItem<Message>>>
  /** How much waits, how much is claimed, and how much of that by one person. */
  counts(options?: { readonly by?: string }): Promise<InboxCounts>
  read(id: string): Promise<InboxItem<Message> | undefined>
  /** Takes a message, or the one that has waited longest. What one has already stays as it is. */
  claim(options: ClaimItemOptions): Promise<ClaimedItem<Message>>
  /** Moves the end of a claim; with all renewals it ends 12 hours after it began. */
  renew(id: string, options: RenewItemOptions): Promise<HandledItem<Message>>
  /** Writes something down, with or without a claim. */
  note(
    id: string,
    options: { readonly by: string; readonly note: string },
  ): Promise<HandledItem<Message>>
  /** Done: the message is acknowledged, and what was decided is kept for 90 days. */
  resolve(id: string, options: ResolveItemOptions): Promise<HandledItem<Message>>
  /** Back to those that wait, in its old place; it counts as never received. */
  giveBack(id: string, options: EndItemOptions): Promise<HandledItem<Message>>
  /** What people did with a message, oldest first; also when it is resolved. */
  history(id: string): Promise<readonly InboxEvent[]>
}

export interface ListInboxOptions {
  /** Only what this person has. */
  readonly by?: string
  /** Default: both, and what receivers without a name have. */
  readonly state?: 'waiting' | 'claimed'
  /** Items per page, 1 to 1000. Default 20. */
  readonly limit?: number
  /** The `next` of the page before. */
  readonly after?: string
}

export interface ClaimItemOptions {
  /** The person. */
  readonly by: string
  /** Default: the message that has waited longest. */
  readonly id?: string
  /** From 1s to 12h. Default: the queue's visibility timeout. */
  readonly for?: Duration
}

interface HolderOptions {
  readonly by: string
  /** The claim that is meant, by its token. Default: whichever this person has. */
  readonly token?: number
}

export interface RenewItemOptions extends HolderOptions {
  /** From now on, from 1s to 12h. Default: the queue's visibility timeout. */
  readonly for?: Duration
}

export interface EndItemOptions extends HolderOptions {
  /** What was decided, or why it goes back. */
  readonly note?: string
}

export interface ResolveItemOptions extends EndItemOptions {
  /** Messages that are sent in the commit of the decision; `prepare` of a queue makes one. */
  readonly emits?: readonly PreparedMessage[]
}

export interface InboxItem<Message = unknown> {
  readonly id: string
  /** `elsewhere`: a receiver without a name has it. `delayed`: not there yet, and in no list. */
  readonly state: InboxItemState
  /** Undefined when the body does not match the contract. */
  readonly message: Message | undefined
  /** As it was sent. */
  readonly body: string
  readonly attributes: Readonly<Record<string, MessageAttribute>>
  readonly group: string | null
  readonly sentAt: number
  readonly receiveCount: number
  readonly deadLetterOrigin: DeadLetterOrigin | null
  readonly claim: InboxClaim | null
  /** How many notes there are. */
  readonly notes: number
}

export type ClaimedItem<Message = unknown> =
  | { readonly status: 'claimed'; readonly item: InboxItem<Message> }
  | Exclude<ClaimResult, { readonly status: 'claimed' }>

/** A claim that cannot be used any more is an answer: everybody meets one sooner or later. */
export type HandledItem<Message = unknown> =
  /** Null once it is resolved. */
  | { readonly status: 'done'; readonly item: InboxItem<Message> | null }
  | Exclude<InboxResult, { readonly status: 'done' }>

export interface InboxSetup {
  readonly backend: Pick<Backend, 'inboxes'>
  /** The queue's name on the backend. */
  readonly name: string
  /** Without one every body that is JSON is a message. */
  readonly declared?: DeclaredQueue | undefined
  /** Names of kill switches that the environment of this process has on. */
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
    giveBack: async (id, options) => {
      refuseUnknownOptions(options, endOptions)
      return handledOf(await store().giveBack({ queue, id, ...options }), schema)
    },
    history: async (id) => store().history({ queue, id }),
  }
}

/** The forms of jobs differ by type, which is not part of their bodies. */
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

/** Why a claim does not do, in a sentence. */
export function claimRefusal(refusal: Exclude<InboxResult, { readonly status: 'done' }>): string {
  return refusal.status === 'not_yours' ? notYours(refusal.holder) : refusalTexts[refusal.status]
}

function notYours(holder: string | null): string {
  return holder === null ? 'You have no claim on it.' : `${holder} has claimed it.`
}

const refusalTexts: Readonly<Record<LeaseRefusal, string>> = {
  gone: 'There is no such message any more.',
  lapsed: 'Your claim has run out; claim it again.',
  stale: 'The token is of an earlier claim.',
}

/** A queue of the reference model and what can be read off it. */
import type {
  DeadLetterOrigin,
  Delivery,
  LeaseRefusal,
  NewMessage,
  PeekedMessage,
  QueueRecord,
  QueueSettings,
  RefusedLease,
  Settlement,
} from '../backends/backend.ts'
import { isLongDelay } from '../core/check-message.ts'
import type { ErrorCode } from '../core/error-codes.ts'
import type { MessageState } from '../core/message.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { noCounts, type QueueTotals, totalsOf } from '../core/queue-counters.ts'

export type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export interface ModelMessage {
  id: string
  sequence: number
  readonly message: NewMessage
  deduplicationId: string | null
  sentAt: number
  /** When its retention begins: when it was sent or, after a long delay, when that ended. */
  keptFrom: number
  state: MessageState
  /** When a leased or delayed message can be received again. */
  visibleAt: number
  /** Of the latest lease; null when it cannot be used now. */
  token: number | null
  leasedAt: number
  receiveCount: number
  firstReceivedAt: number | null
  deadLetterOrigin: DeadLetterOrigin | null
}

export interface ModelQueue {
  /** Never used again, unlike a name. */
  readonly id: number
  record: QueueRecord
  messages: ModelMessage[]
  remembered: {
    readonly scope: string
    readonly id: string
    readonly first: { readonly id: string; readonly sequence: number }
    readonly until: number
  }[]
  /** When a message of a FIFO group last returned. */
  returnedAt: Map<string, number>
  attempts: Map<string, { readonly deliveries: readonly Delivery[]; readonly until: number }>
  totals: Mutable<QueueTotals>
}

export function emptyQueue(id: number, record: QueueRecord): ModelQueue {
  return {
    id,
    record,
    messages: [],
    returnedAt: new Map(),
    remembered: [],
    attempts: new Map(),
    totals: { ...totalsOf(noCounts) },
  }
}

export function queueNamed(queues: readonly ModelQueue[], name: string): ModelQueue | undefined {
  return queues.find(({ record }) => record.name === name)
}

export function requireQueue(queues: readonly ModelQueue[], name: string): ModelQueue {
  const queue = queueNamed(queues, name)
  if (queue === undefined) throw new MillraceError('queue_not_found')
  return queue
}

/** Whether dead letters of a queue can go where its settings say: same type, and not in a circle. */
export function canDieInto(
  lookUp: (name: string) => ModelQueue | undefined,
  name: string,
  { deadLetter, type }: QueueSettings,
): boolean {
  if (deadLetter === null) return true
  const target = lookUp(deadLetter.queue)
  if (target?.record.settings.type !== type) return false
  if (deadLetter.queue === name) return true
  for (let next: ModelQueue | undefined = target; next !== undefined; ) {
    const after: string | undefined = next.record.settings.deadLetter?.queue
    if (after === name) return false
    next = after === undefined || after === next.record.name ? undefined : lookUp(after)
  }
  return true
}

/** A message that was sent just now. */
export function sentMessage(
  message: NewMessage,
  identity: Pick<ModelMessage, 'id' | 'sequence' | 'deduplicationId'>,
  { now, delayMs }: { readonly now: number; readonly delayMs: number },
): ModelMessage {
  return {
    ...identity,
    message,
    sentAt: now,
    keptFrom: now + (isLongDelay(delayMs) ? delayMs : 0),
    state: delayMs > 0 ? 'delayed' : 'ready',
    visibleAt: now + delayMs,
    ...{ token: null, leasedAt: 0, receiveCount: 0, firstReceivedAt: null, deadLetterOrigin: null },
  }
}

/** A message that a move task takes out of a dead-letter queue: it starts again. */
export function movedMessage(
  message: ModelMessage,
  identity: Pick<ModelMessage, 'id' | 'sequence' | 'sentAt' | 'keptFrom'>,
): ModelMessage {
  const untouched = { receiveCount: 0, firstReceivedAt: null, deadLetterOrigin: null, token: null }
  return { ...message, ...identity, ...untouched }
}

/** Messages of a state in the order in which they are given out. */
export function inState(queue: ModelQueue, state: MessageState): ModelMessage[] {
  return queue.messages
    .filter((message) => message.state === state)
    .toSorted((a, b) => a.sequence - b.sequence)
}

export function isLocked(queue: ModelQueue, { message, sequence }: ModelMessage): boolean {
  if (queue.record.settings.type === 'standard') return false
  return inState(queue, 'leased').some(
    (leased) => leased.message.group === message.group && leased.sequence < sequence,
  )
}

/** All ready messages of a standard queue; what the group may give whose turn it is, of a FIFO queue. */
export function openMessages(queue: ModelQueue): ModelMessage[] {
  const open = inState(queue, 'ready').filter((message) => !isLocked(queue, message))
  if (queue.record.settings.type === 'standard') return open
  const ofGroup = (group: string | undefined): ModelMessage[] =>
    open.filter(({ message }) => message.group === group)
  const groups = new Set(open.map(({ message }) => message.group))
  const [first] = [...groups].sort((left, right) => turn(queue, left) - turn(queue, right))
  return ofGroup(first)
}

/** Groups whose messages returned wait behind those that had something then and were not served. */
function turn(queue: ModelQueue, group: string | undefined): number {
  const head = inState(queue, 'ready').find(({ message }) => message.group === group)
  const sentAt = head?.sentAt ?? 0
  const returnedAt = queue.returnedAt.get(group ?? '') ?? 0
  return sentAt <= returnedAt ? 2 * returnedAt + 1 : 2 * sentAt
}

export function remove(queue: ModelQueue, message: ModelMessage): void {
  queue.messages = queue.messages.filter((candidate) => candidate !== message)
  forgetEmptyGroups(queue)
}

/** A group that has nothing left starts again with its next message. */
function forgetEmptyGroups({ messages, returnedAt }: ModelQueue): void {
  for (const group of returnedAt.keys()) {
    if (!messages.some(({ message }) => (message.group ?? '') === group)) returnedAt.delete(group)
  }
}

/** Ends what is due: retention, leases, delays. */
export function catchUp(queue: ModelQueue, now: number): void {
  const { retentionMs } = queue.record.settings
  for (const { message, keptFrom, visibleAt } of inState(queue, 'leased')) {
    const { group = '' } = message
    const before = queue.returnedAt.get(group) ?? 0
    const cameBack = visibleAt <= now && visibleAt < keptFrom + retentionMs
    if (cameBack) queue.returnedAt.set(group, Math.max(before, visibleAt))
  }
  const kept = queue.messages.filter(({ keptFrom }) => keptFrom + retentionMs > now)
  queue.totals.expired += queue.messages.length - kept.length
  queue.messages = kept
  forgetEmptyGroups(queue)
  for (const message of kept) {
    if (message.state !== 'ready' && message.visibleAt <= now) message.state = 'ready'
  }
}

export function stored(message: ModelMessage): Omit<PeekedMessage, 'state' | 'dueAt'> {
  const { body, attributes = {}, systemAttributes = {}, group = null } = message.message
  const { id, sequence, deduplicationId, sentAt, firstReceivedAt, receiveCount, deadLetterOrigin } =
    message
  return {
    ...{ id, sequence, body, attributes, systemAttributes, group, deduplicationId },
    ...{ sentAt, firstReceivedAt, receiveCount, deadLetterOrigin },
  }
}

export function delivery(
  queue: ModelQueue,
  message: ModelMessage,
  { token, leasedAt }: { readonly token: number; readonly leasedAt: number },
): Delivery {
  return {
    ...stored(message),
    receipt: `${queue.id}/${message.sequence}/${token}`,
    token,
    leasedAt,
    leaseExpiresAt: message.visibleAt,
    job: null,
    unit: null,
  }
}

export type Held =
  | { readonly refusal?: undefined; readonly message: ModelMessage }
  | { readonly refusal: Exclude<LeaseRefusal, 'gone'>; readonly message: ModelMessage }
  | { readonly refusal: 'gone'; readonly message?: undefined }

/** Whether a receiver has it; one that waits for its retry has no holder. */
export function isLeased({ state, token }: ModelMessage): boolean {
  return state === 'leased' && token !== null
}

/**
 * Why a lease cannot be settled. A late acknowledgement counts on a standard queue while no other lease
 * was given, or, where any lease will do, while no other lease is live.
 */
export function refuseLate(
  queue: ModelQueue,
  { refusal, message }: Held,
  outcome: Settlement['outcome'],
): RefusedLease | undefined {
  if (refusal === undefined) return undefined
  const refused = { status: refusal }
  if (outcome.kind !== 'acknowledge' || queue.record.settings.type === 'fifo') return refused
  if (refusal === 'lapsed') return undefined
  if (!outcome.anyLease || message === undefined) return refused
  return isLeased(message) ? { ...refused, isHeld: true } : undefined
}

export function refusedWith(code: ErrorCode): {
  readonly status: 'refused'
  readonly error: MillraceError
} {
  return { status: 'refused', error: new MillraceError(code) }
}

/** The message that a receipt names, or why the receipt cannot be used. */
export function findHeld(queue: ModelQueue, receipt: string): Held | 'invalid' {
  const [queueId, sequence, token] = receipt.split('/').map(Number)
  if (queueId !== queue.id) return 'invalid'
  const message = queue.messages.find((candidate) => candidate.sequence === sequence)
  if (message === undefined) return { refusal: 'gone' }
  if (message.token !== token) return { refusal: 'stale', message }
  if (message.state !== 'leased') return { refusal: 'lapsed', message }
  return { message }
}

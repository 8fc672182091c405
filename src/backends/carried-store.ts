/**
 * What a store keeps for queues whose messages a carrier transports. A message in the store waits in the
 * outbox until it is at the carrier; a message that the carrier delivers is claimed in the store before it
 * runs. The rules are those of the store, whatever the carrier is.
 */
import type { NewMessage } from '../core/message.ts'
import type { MillraceError } from '../core/millrace-error.ts'
import type { QueueCounter } from '../core/queue-counters.ts'
import type { Delivery, Settlement, SettleResult } from './delivery.ts'
import type { NewJob } from './job-store.ts'
import type { DeadLetterOrigin, QueueName, StoredMessage } from './stored-message.ts'

export interface CarriedStore {
  /**
   * The oldest messages of the outbox. They are the caller's to send for `holdMs`; another call may take them
   * after that.
   */
  take(request: TakeOutgoing): Promise<readonly OutgoingMessage[]>
  /** They are at the carrier: those that are not tracked leave the store. */
  sent(request: SentMessages): Promise<void>
  /** They could not be sent, and may be taken again. */
  untake(request: SentMessages): Promise<void>
  /** Adds to the figures of a queue what the carrier alone knows. */
  note(request: CarriedFigures): Promise<void>
  /** Lets no message of the queue go to the carrier for some time, because people look at them in the store. */
  keep(request: KeepMessages): Promise<void>
  admission(request: Admission): Promise<Admitted>
  /** Decides what becomes of messages that a carrier has delivered; leases those that may run. */
  arrive(request: Arrive): Promise<readonly Arrived[]>
  /**
   * Settles messages that only the carrier has, with what their handlers emitted. A message that was settled
   * before is `gone`, and nothing is emitted.
   */
  settle(request: SettleArrived): Promise<readonly SettleResult[]>
}

export interface TakeOutgoing extends QueueName {
  readonly max: number
  readonly holdMs: number
}

export interface OutgoingMessage extends StoredMessage {
  /** The store decides whether it runs: it is a job, the unit of a flow, or the trigger of a collector. */
  readonly isTracked: boolean
  readonly job: OutgoingJob | null
  /** The details of the job of a dead letter. */
  readonly details: string | null
}

export interface OutgoingJob {
  readonly type: string
  readonly attemptsMade: number
  readonly maxAttempts: number
}

export interface SentMessages extends QueueName {
  readonly sequences: readonly number[]
}

export interface CarriedFigures extends QueueName {
  readonly counts?: Readonly<Partial<Record<QueueCounter, number>>> | undefined
  readonly levels?: CarriedLevels | undefined
}

/** What a carrier has now. */
export interface CarriedLevels {
  readonly ready: number
  readonly leased: number
  readonly delayed: number
  /** When the oldest message that could be received was sent; null if none, or if the carrier does not report it. */
  readonly oldestSentAt: number | null
}

export interface KeepMessages extends QueueName {
  readonly forMs: number
}

export interface Admission extends QueueName {
  /** Names of kill switches that the caller's own environment has on. */
  readonly heldNames?: readonly string[]
}

export interface Admitted {
  /** How many messages may start now; infinity where nothing limits the queue. */
  readonly room: number
  /** Messages of the queue wait in the store. */
  readonly isKept: boolean
}

export interface Arrive extends QueueName {
  readonly messages: readonly ArrivingMessage[]
  readonly visibilityMs: number
  /**
   * Stores all of them. `keeps`: to be listed, claimed or moved there, and none is leased. `tracks`: they are
   * leased, although the store could do without them.
   */
  readonly mode?: 'keeps' | 'tracks'
  /** Names of kill switches that the caller's own environment has on. */
  readonly heldNames?: readonly string[]
}

export interface ArrivingMessage {
  /** The same for each delivery of the message. */
  readonly carrierId: string
  /** The message of the store that it names; null if it names none. */
  readonly id: string | null
  readonly message: NewMessage
  /** The job that it becomes if it is not one yet; null for a plain message. */
  readonly job: NewJob | null
  readonly sentAt: number
  /** Of a dead letter. */
  readonly deadLetterOrigin?: DeadLetterOrigin
  readonly details?: string
}

export type Arrived =
  /** The store has leased it: settle it there. */
  | { readonly status: 'leased'; readonly delivery: Delivery }
  /** It may run, and the store keeps nothing about it. */
  | { readonly status: 'untracked' }
  /** A kill switch holds the FIFO queue: return it to the carrier. */
  | { readonly status: 'held' }
  /** The store keeps it, until it may run, or has ended it, or another lease is live: delete it at the carrier. */
  | { readonly status: 'done' }
  /** The queue cannot take it, or it names a message that this store has never had. */
  | { readonly status: 'refused'; readonly error: MillraceError }

export interface SettleArrived extends QueueName {
  readonly settlements: readonly ArrivedSettlement[]
}

export interface ArrivedSettlement {
  readonly carrierId: string
  /** Its receipt is not looked at. */
  readonly settlement: Settlement
  /** What becomes the dead letter of a settlement that dead-letters. */
  readonly message?: NewMessage
  readonly sentAt?: number
}

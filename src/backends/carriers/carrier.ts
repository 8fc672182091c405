/**
 * The port that a carrier implements: it transports the messages of the queues that are placed on it. Jobs,
 * flows, limits and everything else are rules of the store next to it.
 */
import type { MessageAttribute, MessageState } from '../../core/message.ts'
import type { MillraceError } from '../../core/millrace-error.ts'
import type { Timers } from '../../core/ports.ts'
import type { QueueSettings } from '../../core/queue-settings.ts'
import type { CarriedLevels, OutgoingJob } from '../carried-store.ts'
import type { DeadLetterOrigin, Page, PeekedMessage, QueueName } from '../stored-message.ts'

/** How a program names a carrier, and opens it. */
export interface CarrierChoice {
  /** What `queue({ on })` names: `sqs` or `bullmq`. */
  readonly name: string
  /** Names the place for people, without secrets. */
  readonly place: string
  readonly capabilities: CarrierCapabilities
  /** Loads the driver, and checks that the carrier can be used. */
  open(opening: CarrierOpening): Promise<Carrier>
}

export interface CarrierOpening {
  /** Called with what the user should know: differences, settings at risk, lost connections. */
  readonly onNotice: (text: string) => void
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly timers: Timers
}

/** What a carrier can do, as data. */
export interface CarrierCapabilities {
  readonly name: string
  readonly fifo: boolean
  /** Messages can be read without receiving them. */
  readonly peek: boolean
  /** A receive that is released does not count. */
  readonly uncountedRelease: boolean
  /** Settling an untracked message is refused after its lease was followed by another one. */
  readonly fencedReceipts: boolean
  /** The longest delay of a new message, and of one that is returned. */
  readonly delayMsMax: number
  readonly returnMsMax: number
}

export interface Carrier {
  readonly capabilities: CarrierCapabilities

  /** Creates a queue, or compares its settings. Returns differences in plain words. */
  ensure(queue: CarrierQueue): Promise<readonly string[]>
  removeQueue(request: QueueName): Promise<void>
  purge(request: QueueName): Promise<void>
  levels(request: QueueName): Promise<CarriedLevels>

  /** Rejects only if no message was sent, for a reason that concerns none of them. */
  send(request: CarrierSend): Promise<readonly CarrierSent[]>
  /** Waits up to `waitMs` for the first message. An aborted receive takes nothing. */
  receive(request: CarrierReceive): Promise<readonly CarrierDelivery[]>
  /** Whether each lease could be extended. */
  extend(request: CarrierExtend): Promise<readonly boolean[]>
  /** Deletes messages. Returns whether each was still there, as far as the carrier knows. */
  remove(request: CarrierRemove): Promise<readonly boolean[]>
  /** Makes messages receivable again after a delay. */
  release(request: CarrierRelease): Promise<readonly boolean[]>
  /** Only with the capability. */
  peek(request: CarrierPeek): Promise<Page<CarrierPeeked>>

  /** Resolves when the carrier can be used; rejects with the reason when not. */
  check(): Promise<void>
  close(): Promise<void>
}

export interface CarrierQueue extends QueueName {
  readonly settings: QueueSettings
  /** Its messages are tracked: the store counts their attempts, and dead-letters them. */
  readonly isTracked: boolean
}

/** What accompanies the content of a message. */
export interface CarrierLabels {
  /** Of the store: the message that it names if it is tracked, else how a repeated sending is recognised. */
  readonly id: string
  readonly isTracked: boolean
  readonly job: OutgoingJob | null
  /** The details of a job that has ended, which its dead letter keeps. */
  readonly details?: string
  readonly deadLetterOrigin?: DeadLetterOrigin
  /** When it was sent first, if it was moved since. */
  readonly sentAt?: number
  readonly systemAttributes?: Readonly<Record<string, string>>
}

export interface CarrierMessage {
  /** Null if there are none. */
  readonly labels: CarrierLabels | null
  readonly body: string
  readonly attributes: Readonly<Record<string, MessageAttribute>>
  readonly systemAttributes: Readonly<Record<string, string>>
  /** Null on a FIFO queue, whose delay is its own setting. */
  readonly delayMs: number | null
  readonly group: string | null
  readonly deduplicationId: string | null
}

export interface CarrierSend extends QueueName {
  readonly messages: readonly CarrierMessage[]
}

export type CarrierSent =
  | {
      readonly status: 'created' | 'duplicate'
      readonly id: string
      /** Rises with every message, if the carrier numbers them. */
      readonly sequence?: number
    }
  | { readonly status: 'refused'; readonly error: MillraceError }

export interface CarrierReceive extends QueueName {
  readonly max: number
  readonly visibilityMs: number
  readonly waitMs: number
  readonly attemptId?: string
  readonly signal?: AbortSignal
}

export interface CarrierDelivery {
  /** Names the lease. */
  readonly handle: string
  /** The carrier's id of the message: the same for each delivery. */
  readonly id: string
  readonly labels: CarrierLabels | null
  readonly body: string
  readonly attributes: Readonly<Record<string, MessageAttribute>>
  readonly systemAttributes: Readonly<Record<string, string>>
  readonly group: string | null
  readonly deduplicationId: string | null
  readonly sentAt: number
  readonly firstReceivedAt: number
  readonly receiveCount: number
  readonly sequence?: number
  /** The type of a job that a program without Millrace has sent; null if it named none. */
  readonly jobType: string | null
}

export interface CarrierExtend extends QueueName {
  readonly leases: readonly { readonly handle: string; readonly visibilityMs: number }[]
}

export interface CarrierRemove extends QueueName {
  readonly messages: readonly CarrierEnd[]
}

/** How a message ended, for carriers that show it. */
export interface CarrierEnd {
  readonly handle: string
  readonly result?: string | undefined
  readonly error?: string | undefined
}

export interface CarrierRelease extends QueueName {
  readonly messages: readonly CarrierReleased[]
}

export interface CarrierReleased {
  readonly handle: string
  readonly delayMs: number
  /** It counts as an attempt that failed for this reason; undefined if it was released. */
  readonly error?: string | undefined
}

export interface CarrierPeeked extends PeekedMessage {
  readonly labels: CarrierLabels | null
}

export interface CarrierPeek extends QueueName {
  readonly state: MessageState
  readonly after?: string
  readonly limit: number
}

/** A message as every reader of a store sees it. */
import type { MessageAttribute } from '../core/message.ts'
import type { MessageState } from '../core/message-state.ts'

export interface StoredMessage {
  readonly id: string
  readonly sequence: number
  readonly body: string
  readonly attributes: Readonly<Record<string, MessageAttribute>>
  readonly systemAttributes: Readonly<Record<string, string>>
  readonly group: string | null
  readonly deduplicationId: string | null
  readonly sentAt: number
  readonly firstReceivedAt: number | null
  readonly receiveCount: number
  readonly deadLetter: DeadLetterOrigin | null
}

export interface DeadLetterOrigin {
  /** The queue in which the message died. */
  readonly source: string
  readonly at: number
  /** Why it was buried; null when it only used up its receives. */
  readonly reason: string | null
}

export interface PeekedMessage extends StoredMessage {
  readonly state: MessageState
  /** When a leased or delayed message can be received again. */
  readonly dueAt: number | null
}

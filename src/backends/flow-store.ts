/**
 * Fan-out and fan-in: the part of a backend that knows which messages belong together. A unit's message
 * names its unit. Its acknowledgement marks the unit done in the same commit, its dead-lettering marks
 * it dead. The last mark ends the flow in that commit, and only one can be the last.
 */
import type { Spent } from './budget-store.ts'
import type { Emitted } from './emitted.ts'
import type { FlowKey, Page, UnitKey } from './stored-message.ts'

export type { FlowKey, UnitKey } from './stored-message.ts'

export interface FlowStore {
  /** Opens a flow with its first units. An existing flow stays as it is: `duplicate`. */
  open(request: OpenFlow): Promise<OpenedFlow>
  /** Adds units until the flow is sealed; those that it has already are counted, not added again. */
  add(request: AddUnits): Promise<AddedUnits>
  /** After this the flow ends when its units have ended. Sealing twice is sealing once. */
  seal(request: FlowKey): Promise<FlowRecord>
  /** Marks units without a delivery; an existing mark stays. */
  mark(request: MarkUnits): Promise<FlowRecord>
  /** Sends the message of a unit that was opened without one; nothing happens when it has one. */
  start(request: StartUnit): Promise<FlowRecord>
  /** Ends an open flow. Messages of its units that are not leased are removed, in slices. */
  cancel(request: FlowKey): Promise<FlowRecord>
  /** Reopens a flow that failed or waits for a dead unit. The unit is pending again, with its work. */
  resume(request: ResumeFlow): Promise<FlowRecord>
  /** Undefined when the flow does not exist or was removed. */
  read(request: FlowKey): Promise<FlowRecord | undefined>
  /** Newest first. */
  list(request: ListFlows): Promise<Page<FlowRecord>>
  /** In the order in which they were added. */
  units(request: ListUnits): Promise<Page<UnitRecord>>
  /** How many are open and how many of those are overdue, by the name of their declaration. */
  counts(): Promise<readonly FlowCounts[]>
}

export interface NewUnit {
  /** Unique in its flow. */
  readonly id: string
  /** What does the work; without it the unit waits for a `start`, a mark, or a flow that takes over. */
  readonly work?: Emitted
}

/**
 * What a dead unit means for its flow: `wait` until it is redriven, resumed or marked, `fail` at once, or
 * `finalize` without it once no unit is pending.
 */
export type UnitFailurePolicy = 'wait' | 'fail' | 'finalize'

export interface OpenFlow extends FlowKey {
  readonly units: readonly NewUnit[]
  /** No units will be added. */
  readonly sealed: boolean
  readonly onUnitFailure: UnitFailurePolicy
  /** Sent in the commit that finalizes the flow. */
  readonly finalize?: Emitted
  /** Sent in the commit in which the flow fails. */
  readonly failed?: Emitted
  readonly deadlineMs?: number
  /** What happens then. Default `report`: the flow is overdue, and continues. */
  readonly onDeadline?: 'report' | 'fail' | 'finalize'
  /** The unit of another flow that is done when this one is: when its `finalize` was acknowledged. */
  readonly parent?: UnitKey
  /** Remember the messages of units, so that the flow can be resumed without them. */
  readonly keepsWork?: boolean
  /** Units are steps, of which each starts the next: resuming one repeats those after it as well. */
  readonly inOrder?: boolean
  /** How long the flow is remembered after its end. */
  readonly keepMs: number
  /** The caller's data, stored with the flow. */
  readonly data?: string
}

export interface OpenedFlow {
  readonly status: 'created' | 'duplicate'
  readonly flow: FlowRecord
}

export interface AddUnits extends FlowKey {
  readonly units: readonly NewUnit[]
  /** No more units will follow. */
  readonly seal?: boolean
}

export interface AddedUnits {
  readonly added: number
  /** Units that the flow had already. */
  readonly duplicates: number
  readonly flow: FlowRecord
}

export interface UnitMark {
  readonly unit: string
  readonly state: 'done' | 'dead'
  /** Why a unit is dead; a safe summary. */
  readonly reason?: string
}

export interface MarkUnits extends FlowKey {
  readonly marks: readonly UnitMark[]
}

export interface StartUnit extends UnitKey {
  readonly work: Emitted
}

export interface ResumeFlow extends UnitKey {
  /** Default: the message that the flow remembers. */
  readonly work?: Emitted
}

/** A unit is marked once: `done` is final, `dead` may still become `done`. */
export type UnitState = 'pending' | 'done' | 'dead'

/** `finalized` also for a flow that has nothing to emit at its end. */
export type FlowStatus = 'open' | 'finalized' | 'failed' | 'cancelled'

export interface FlowRecord extends FlowKey {
  readonly status: FlowStatus
  readonly isSealed: boolean
  readonly units: {
    readonly total: number
    readonly done: number
    readonly dead: number
    readonly pending: number
  }
  /** The unit that ended the flow, or that an open one waits for, and why it is dead. */
  readonly failure: FlowFailure | null
  readonly parent: UnitKey | null
  readonly openedAt: number
  readonly endedAt: number | null
  readonly deadlineAt: number | null
  /** Open, and past its deadline. */
  readonly isOverdue: boolean
  /**
   * What the work on its units has spent, by budget, failed attempts and flows that took over a unit
   * included.
   */
  readonly spent: Spent
  readonly data: string | null
}

export interface FlowCounts {
  readonly flow: string
  readonly open: number
  /** Of those that are open. */
  readonly overdue: number
}

export interface FlowFailure {
  /** Null when it is about no unit: a deadline, or a queue that does not take the message of the end. */
  readonly unit: string | null
  readonly reason: string | null
}

export interface UnitRecord {
  readonly unit: string
  readonly state: UnitState
  readonly reason: string | null
  /** Its message was sent, whatever became of it. */
  readonly isStarted: boolean
  /** The id of its message, as long as the unit is not done. */
  readonly messageId: string | null
  readonly markedAt: number | null
}

export interface ListFlows {
  /** Names that begin like this; `''` for all. */
  readonly prefix: string
  readonly status?: FlowStatus
  readonly overdue?: boolean
  readonly after?: string
  readonly limit: number
}

export interface ListUnits extends FlowKey {
  readonly state?: UnitState
  readonly after?: string
  readonly limit: number
}

/** A unit that is started with a settlement. */
export interface EmittedStart extends StartUnit {
  /**
   * Only if the delivery still works on this unit of the same flow. A delivery that was released,
   * because its flow was resumed from an earlier step, starts nothing.
   */
  readonly follows?: string
}

/** A flow that is opened with a settlement. */
export interface EmittedFlow extends OpenFlow {
  /** The flow takes the place of the delivery's unit, which its acknowledgement then does not mark. */
  readonly takesOver?: boolean
}

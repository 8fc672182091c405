/** The definition of an SQS action: its name, the shapes of its request and response, and its code. */
import type { Backend } from '../../backends/backend.ts'
import type { Ports } from '../../core/ports.ts'
import type { QueueAddress, QueuePlace, QueueReference } from '../../sqs/queue-address.ts'
import type { StructureShape, ValueOf } from './shapes.ts'

/** The part of the store that the SQS endpoint needs. */
export type WireStore = Pick<
  Backend,
  | 'createQueue'
  | 'readQueue'
  | 'listQueues'
  | 'changeQueue'
  | 'tagQueue'
  | 'deleteQueue'
  | 'purgeQueue'
  | 'queueStatistics'
  | 'listDeadLetterSources'
  | 'jobs'
  | 'send'
  | 'receive'
  | 'extend'
  | 'settle'
  | 'startMoveTask'
  | 'listMoveTasks'
  | 'cancelMoveTask'
>

/** Settings for all requests to a server. */
export interface WireSettings {
  /** Region and account of queues whose name in the store has no prefix. */
  readonly home: QueuePlace
  /** How long a name is blocked after a deletion, and a queue after a purge. 0 turns both off. */
  readonly cooldownMs: number
}

/** The context of one request. */
export interface ActionContext {
  readonly store: WireStore
  readonly ports: Ports
  readonly settings: WireSettings
  /** The caller. Supplies account and region if the request names none. */
  readonly caller: Caller
  /** The header `X-Amzn-Trace-Id`. */
  readonly traceHeader: string | undefined
  /** The queue from `QueueUrl` or the path; throws if there is none. */
  queue(): AddressedQueue
  /** The URL of a queue, with the host that the client used. */
  urlOf(address: QueueAddress): string
  /** Another queue that the request names; throws if the caller may not access it. */
  locate(reference: QueueReference): AddressedQueue
  /** Aborts when the client disconnects. Created on first use. */
  gone(): AbortSignal
}

export interface Caller extends QueuePlace {
  /** The SenderId of messages. */
  readonly id: string
}

export interface AddressedQueue {
  readonly address: QueueAddress
  /** The queue's name in the store. */
  readonly name: string
}

export interface Action<
  Input extends StructureShape = StructureShape,
  Output extends StructureShape = StructureShape,
> {
  readonly name: string
  readonly input: Input
  /** Null: the response has no members. */
  readonly output: Output | null
  /** Whether the action is for a queue, and so can be sent to the path of the queue. */
  readonly onQueue: boolean
  run(context: ActionContext, input: ValueOf<Input>): Promise<ValueOf<Output>>
  /**
   * Called when the client disconnected before the response. Reverts the action as if the client had received
   * nothing.
   */
  takeBack?(context: ActionContext, output: ValueOf<Output>): Promise<void>
}

/** Checks the types of an action, and returns it without them, for the table of all actions. */
export function action<const Input extends StructureShape, const Output extends StructureShape>(
  definition: Action<Input, Output>,
): Action {
  // The protocols build the input from its shape, so the types match.
  return definition as unknown as Action
}

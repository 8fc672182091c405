/** What an action of the SQS API is: its name, the form of its request and answer, and what it does. */
import type { Backend } from '../../backends/backend.ts'
import type { Ports } from '../../core/ports.ts'
import type { QueueAddress, QueuePlace, QueueReference } from '../../sqs/queue-address.ts'
import type { StructureShape, ValueOf } from './shapes.ts'

/** The part of the store that the wire needs. */
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
  | 'send'
  | 'receive'
  | 'extend'
  | 'settle'
  | 'startMoveTask'
  | 'listMoveTasks'
  | 'cancelMoveTask'
>

/** What holds for all requests to a server. */
export interface WireSettings {
  /** Region and account whose queues go by their bare names in the store. */
  readonly home: QueuePlace
  /** How long a name is blocked after a deletion, and a queue between two purges. 0: not at all. */
  readonly cooldownMs: number
}

/** One request, as an action sees it. */
export interface ActionContext {
  readonly store: WireStore
  readonly ports: Ports
  readonly settings: WireSettings
  /** Whose queues a request means that names no account and no region. */
  readonly caller: Caller
  /** The header `X-Amzn-Trace-Id`. */
  readonly traceHeader: string | undefined
  /** The queue that the request names by `QueueUrl` or by its path; throws when there is none. */
  queue(): AddressedQueue
  /** The URL of a queue, by the host that the client called. */
  urlOf(address: QueueAddress): string
  /** Another queue that the request names; throws when it is not the caller's to name. */
  locate(reference: QueueReference): AddressedQueue
  /** Aborted once the client has gone. Made when it is first asked for. */
  gone(): AbortSignal
}

export interface Caller extends QueuePlace {
  /** What messages carry as SenderId. */
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
  /** Null: there is nothing to answer. */
  readonly output: Output | null
  /** Whether the action concerns a queue, and can be sent to the queue's own path. */
  readonly onQueue: boolean
  run(context: ActionContext, input: ValueOf<Input>): Promise<ValueOf<Output>>
  /**
   * Called when the answer could not be given to the client any more, which then must not have got
   * anything.
   */
  takeBack?(context: ActionContext, output: ValueOf<Output>): Promise<void>
}

/** Checks the parts of an action against each other; the types are forgotten for the table of all. */
export function action<const Input extends StructureShape, const Output extends StructureShape>(
  definition: Action<Input, Output>,
): Action {
  // The protocols make the input by its shape, so what arrives is what the shape says.
  return definition as unknown as Action
}

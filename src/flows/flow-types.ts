/**
 * The options of flows and chains, typed by the app that declares them. Units carry messages or jobs of one
 * queue. The message at the end of a flow goes to another queue.
 */
import type { ChainStep, DeclaredChain } from '../contracts/chain-declaration.ts'
import type { DeclaredFlowParts, DeclaredQueues, PartOf } from '../contracts/define-app.ts'
import type { DeclaredFlow } from '../contracts/flow-declaration.ts'
import type { JobInput, JobsQueue, JobTypeName } from '../contracts/jobs-declaration.ts'
import type { DeclaredQueue, MessageInput } from '../contracts/queue-declaration.ts'
import type { JobWorkOptions, QueueAt, UntypedWork, Work } from '../jobs/emitter.ts'

/** The keys of an app's flows. */
export type FlowName<Parts> = keyof PartOf<Parts, 'flows'> & string

/** The keys of an app's chains. */
export type ChainName<Parts> = keyof PartOf<Parts, 'chains'> & string

/** A flow by its key. */
export type FlowAt<Parts, Name extends FlowName<Parts>> = Extract<
  PartOf<Parts, 'flows'>[Name],
  DeclaredFlow
>

/** A chain by its key. */
export type ChainAt<Parts, Name extends ChainName<Parts>> = Extract<
  PartOf<Parts, 'chains'>[Name],
  DeclaredChain
>

/** A unit without a message or job. `mark` ends it, or a flow whose `parent` it is. */
export interface UnitWithoutWork {
  /** Unique in its flow; 1 to 256 characters. */
  readonly id: string
  readonly message?: never
  readonly type?: never
}

/** One unit of a flow, with the message or the job that does its work. */
export type Unit<Queue> = UnitWithoutWork | ({ readonly id: string } & Work<Queue>)

/** The type of the units of a flow. */
export type UnitOf<Queues extends DeclaredQueues, Flow> =
  Flow extends DeclaredFlow<infer Units, infer _Finalize, infer _Failed>
    ? Unit<QueueAt<Queues, Units>>
    : never

/** A unit of a flow of the same app. */
export interface ParentUnit<Parts = DeclaredFlowParts> {
  /** The key of the flow. */
  readonly flow: FlowName<Parts>
  readonly id: string
  readonly unit: string
}

/** The unit of a flow, or the step of a chain, that a delivery belongs to. */
export interface UnitFacts {
  /** The key of the flow or chain, or its name in the store if the app does not declare it. */
  readonly flow: string
  readonly id: string
  readonly unit: string
}

/** The messages for the queues that a flow declares for its end. */
type Ends<Queues extends DeclaredQueues, Flow> =
  Flow extends DeclaredFlow<infer _Units, infer Finalize, infer Failed>
    ? EndWork<Queues, 'finalize', Finalize> & EndWork<Queues, 'failed', Failed>
    : never

/** A key that was left out is `never` or `string`, because the compiler infers it from the context. */
type EndWork<Queues extends DeclaredQueues, Name extends string, Key> = [Key] extends [never]
  ? { readonly [Property in Name]?: undefined }
  : string extends Key
    ? { readonly [Property in Name]?: undefined }
    : { readonly [Property in Name]: Work<QueueAt<Queues, Key>> }

interface Opening<Parts> {
  /** False if more units will be added. The flow then does not end before it is sealed. Default: true. */
  readonly seal?: boolean
  /** A unit of another flow. It is done when this flow is. */
  readonly parent?: ParentUnit<Parts>
}

/** The options of `mill.flows.{name}.open`. */
export type OpenFlowOptions<Queues extends DeclaredQueues, Parts, Flow> = Opening<Parts> &
  Ends<Queues, Flow> & {
    /** Any number of units. */
    readonly units: Iterable<UnitOf<Queues, Flow>> | AsyncIterable<UnitOf<Queues, Flow>>
  }

/** The options of `open` in a handler, which opens a flow with the commit that completes the handler. */
export type EmitFlowOptions<Queues extends DeclaredQueues, Parts, Flow> = Opening<Parts> &
  Ends<Queues, Flow> & {
    /** At most 1,000 units, because all are in one commit. */
    readonly units: Iterable<UnitOf<Queues, Flow>>
    /** Makes the handler's own unit end with the flow instead of with the handler. Default: false. */
    readonly takeOver?: boolean
  }

/**
 * The arguments of `open` in a handler. A union of tuples and not a type parameter, so that a handler can be
 * typed for only some of the app's flows.
 */
export type FlowOpening<Queues extends DeclaredQueues, Parts> = {
  readonly [Name in FlowName<Parts>]: [
    flow: Name,
    id: string,
    options: EmitFlowOptions<Queues, Parts, FlowAt<Parts, Name>>,
  ]
}[FlowName<Parts>]

/** The arguments of `start` in a handler. */
export type ChainStart<Queues extends DeclaredQueues, Parts> = {
  readonly [Name in ChainName<Parts>]: [
    chain: Name,
    id: string,
    payload: ChainInput<Queues, ChainAt<Parts, Name>>,
    options?: EmitChainOptions<Parts>,
  ]
}[ChainName<Parts>]

/** The start value of a chain: the input of its first step. */
export type ChainInput<Queues extends DeclaredQueues, Chain> =
  Chain extends DeclaredChain<infer Steps> ? StepInput<Queues, Steps[0]> : never

/** The input of one step of a chain. */
export type StepInput<Queues extends DeclaredQueues, Step extends ChainStep | undefined> =
  QueueAt<Queues, NonNullable<Step>['queue']> extends infer Queue
    ? [Queue] extends [JobsQueue]
      ? JobInput<Queue, Extract<NonNullable<Step>['type'], JobTypeName<Queue>>>
      : MessageInput<Extract<Queue, DeclaredQueue>>
    : never

/** Options besides the start value of a chain. */
export interface StartChainOptions<Parts = DeclaredFlowParts> {
  /** Options of the first step's job. Owner, tenant and trace are passed on from step to step. */
  readonly options?: JobWorkOptions
  /** A unit of a flow. It is done when the chain is. */
  readonly parent?: ParentUnit<Parts>
}

/** The options of `start` in a handler, which starts a chain with the commit that completes the handler. */
export interface EmitChainOptions<Parts = DeclaredFlowParts> extends StartChainOptions<Parts> {
  /** Makes the handler's own unit end with the chain instead of with the handler. Default: false. */
  readonly takeOver?: boolean
}

/** The same without the types of an app. */
export interface UntypedUnit extends UntypedWork {
  readonly id: string
}

export interface UntypedOpening {
  readonly units: Iterable<UntypedUnit> | AsyncIterable<UntypedUnit>
  readonly seal?: boolean
  readonly finalize?: UntypedWork | undefined
  readonly failed?: UntypedWork | undefined
  readonly parent?: UnitFacts
  readonly takeOver?: boolean
}

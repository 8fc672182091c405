/**
 * What flows and chains are given, typed by the app that declares them: units carry messages or jobs
 * of one queue, and what is sent at the end is for another.
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

/** A unit that nobody is sent: it is marked by hand, or by a flow that stands for it. */
export interface UnitWithoutWork {
  /** Unique in its flow; 1 to 256 characters. */
  readonly id: string
  readonly message?: never
  readonly type?: never
}

/** One unit of a flow, with the message or the job that does its work. */
export type Unit<Queue> = UnitWithoutWork | ({ readonly id: string } & Work<Queue>)

/** The units of a flow, as they are given to it. */
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

/** The unit of a flow, or the step of a chain, that a delivery works on. */
export interface UnitFacts {
  /** The key of the flow or chain; its name in the store when the app does not declare it. */
  readonly flow: string
  readonly id: string
  readonly unit: string
}

/** Ends that a flow declares have their message; others have none. */
type Ends<Queues extends DeclaredQueues, Flow> =
  Flow extends DeclaredFlow<infer _Units, infer Finalize, infer Failed>
    ? EndWork<Queues, 'finalize', Finalize> & EndWork<Queues, 'failed', Failed>
    : never

/** A key that was left out is no key, or any text: the compiler fills it in from what surrounds it. */
type EndWork<Queues extends DeclaredQueues, Name extends string, Key> = [Key] extends [never]
  ? { readonly [Property in Name]?: undefined }
  : string extends Key
    ? { readonly [Property in Name]?: undefined }
    : { readonly [Property in Name]: Work<QueueAt<Queues, Key>> }

interface Opening<Parts> {
  /** False when more units will be added; such a flow does not end before it is sealed. */
  readonly seal?: boolean
  /** The unit of another flow that is done when this flow is. */
  readonly parent?: ParentUnit<Parts>
}

/** How a flow is opened. */
export type OpenFlowOptions<Queues extends DeclaredQueues, Parts, Flow> = Opening<Parts> &
  Ends<Queues, Flow> & {
    /** Any number of them. */
    readonly units: Iterable<UnitOf<Queues, Flow>> | AsyncIterable<UnitOf<Queues, Flow>>
  }

/** How a handler opens a flow with its completion. */
export type EmitFlowOptions<Queues extends DeclaredQueues, Parts, Flow> = Opening<Parts> &
  Ends<Queues, Flow> & {
    /** At most 1,000, since all are in one commit. */
    readonly units: Iterable<UnitOf<Queues, Flow>>
    /** The flow stands for the handler's own unit, which is then done when the flow is. */
    readonly takeOver?: boolean
  }

/**
 * The arguments with which a handler opens one of the app's flows. One of several lists and not a type
 * parameter, so that a handler may be written for fewer parts of an app than it has.
 */
export type FlowOpening<Queues extends DeclaredQueues, Parts> = {
  readonly [Name in FlowName<Parts>]: [
    flow: Name,
    id: string,
    options: EmitFlowOptions<Queues, Parts, FlowAt<Parts, Name>>,
  ]
}[FlowName<Parts>]

/** The arguments with which a handler starts one of the app's chains. */
export type ChainStart<Queues extends DeclaredQueues, Parts> = {
  readonly [Name in ChainName<Parts>]: [
    chain: Name,
    id: string,
    payload: ChainInput<Queues, ChainAt<Parts, Name>>,
    options?: EmitChainOptions<Parts>,
  ]
}[ChainName<Parts>]

/** What the first step of a chain takes. */
export type ChainInput<Queues extends DeclaredQueues, Chain> =
  Chain extends DeclaredChain<infer Steps> ? StepInput<Queues, Steps[0]> : never

/** What one step of a chain takes. */
export type StepInput<Queues extends DeclaredQueues, Step extends ChainStep | undefined> =
  QueueAt<Queues, NonNullable<Step>['queue']> extends infer Queue
    ? [Queue] extends [JobsQueue]
      ? JobInput<Queue, Extract<NonNullable<Step>['type'], JobTypeName<Queue>>>
      : MessageInput<Extract<Queue, DeclaredQueue>>
    : never

/** Beside what a chain is started with. The options are those of the first step's job. */
export interface StartChainOptions<Parts = DeclaredFlowParts> {
  /** Owner, tenant and trace are passed on from step to step. */
  readonly options?: JobWorkOptions
  /** The unit of a flow that is done when the chain is. */
  readonly parent?: ParentUnit<Parts>
}

/** How a handler starts a chain with its completion. */
export interface EmitChainOptions<Parts = DeclaredFlowParts> extends StartChainOptions<Parts> {
  /** The chain stands for the handler's own unit, which is then done when the chain is. */
  readonly takeOver?: boolean
}

/** The same before the types of one app are known. */
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

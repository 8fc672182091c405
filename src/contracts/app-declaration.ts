/**
 * An app is one typed value with a name and queues. Millrace derives the rest from it: the queues on the
 * backend, validation, and the types of senders and receivers.
 */
import type { Alarm, AlarmAction } from './alarm-declaration.ts'
import type { DeclaredBudgets } from './budget-declaration.ts'
import type { DeclaredChains } from './chain-declaration.ts'
import type { DeclaredCollectors } from './collector-declaration.ts'
import type { DeclaredFlow, DeclaredFlows } from './flow-declaration.ts'
import type { JanitorOptions } from './janitor-declaration.ts'
import type { DeclaredQueues } from './queue-declaration.ts'
import type { DeclaredSchedules } from './schedule-declaration.ts'
import type { DefaultTiers, Tiers } from './tier-declaration.ts'

/** The parts of an app that are built on its queues. */
export interface DeclaredFlowParts {
  /** Fan-out and fan-in. */
  readonly flows?: DeclaredFlows
  /** Steps that run one after the other. */
  readonly chains?: DeclaredChains
  /** Items that are merged by key. */
  readonly collectors?: DeclaredCollectors
  /** Messages and jobs that are sent by the clock. */
  readonly schedules?: DeclaredSchedules
}

export interface AppDeclaration<Queues extends DeclaredQueues = DeclaredQueues>
  extends DeclaredFlowParts {
  readonly queues: Queues
  /** The stage if neither the options of `open` nor the environment name one. Default `'dev'`. */
  readonly stage?: string
  /** The job types that each class of service may run, and the queue that runs them. */
  readonly tiers?: Tiers
  /** The tier of jobs that do not name one, by job type. */
  readonly defaultTier?: DefaultTiers
  /** How much handlers may spend before a kill switch turns itself on. */
  readonly budgets?: DeclaredBudgets
  /** Conditions to alert on. */
  readonly alarms?: readonly Alarm[]
  /** The actions of alarms that declare none, including the default alarms on dead letters. */
  readonly alarmActions?: readonly AlarmAction[]
  /** When work counts as stuck. */
  readonly janitor?: JanitorOptions
}

export interface App<Queues extends DeclaredQueues = DeclaredQueues>
  extends AppDeclaration<Queues> {
  readonly name: string
}

/** The argument of a function that a module exports instead of an app. */
export interface AppSettings {
  /** The value of `--stage` or MILLRACE_STAGE. Left out if neither is set. */
  readonly stage?: string
  /** A copy of the environment variables of the process. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** An app as declared. It has only the parts that were declared. */
export type DefinedApp<Queues extends DeclaredQueues, Parts extends DeclaredFlowParts> = Omit<
  App<Queues>,
  keyof DeclaredFlowParts
> &
  Pick<Parts, keyof Parts & keyof DeclaredFlowParts>

/** The flows as declared. Each may only name queues of the app. */
export type CheckedFlows<Queues, Parts> = Parts extends { readonly flows: infer Flows }
  ? {
      readonly flows: {
        readonly [Key in keyof Flows]: CheckedFlow<keyof Queues & string, Flows[Key]>
      }
    }
  : unknown

type CheckedFlow<Keys extends string, Flow> =
  Flow extends DeclaredFlow<infer Units, infer Finalize, infer Failed>
    ? DeclaredFlow<Known<Keys, Units>, Known<Keys, Finalize>, Known<Keys, Failed>>
    : Flow

/** A key that was left out is `string` here, because the compiler infers it from the context. */
type Known<Keys extends string, Key extends string> = string extends Key
  ? Key
  : [Key] extends [Keys]
    ? Key
    : Keys

/** The parts of an app that has only queues. */
export type NoParts = Readonly<Record<never, never>>

/** One part of an app, such as its flows, by the keys of its declaration. */
export type PartOf<Parts, Name extends keyof DeclaredFlowParts> = Name extends keyof Parts
  ? Exclude<Parts[Name], undefined>
  : NoParts

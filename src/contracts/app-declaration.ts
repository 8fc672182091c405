/**
 * An app is one typed value: its name and its queues. Everything else (queues on the backend,
 * validation, the types of senders and receivers) is derived from it.
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

/** What is built on queues. */
export interface DeclaredFlowParts {
  /** Fan-out and fan-in. */
  readonly flows?: DeclaredFlows
  /** Steps that follow each other. */
  readonly chains?: DeclaredChains
  /** Items that are merged by key. */
  readonly collectors?: DeclaredCollectors
  /** What is sent by the clock. */
  readonly schedules?: DeclaredSchedules
}

export interface AppDeclaration<Queues extends DeclaredQueues = DeclaredQueues>
  extends DeclaredFlowParts {
  readonly queues: Queues
  /** The stage when neither `open` nor its environment names one. Default `'dev'`. */
  readonly stage?: string
  /** Which job types a class of service may run, and in which queue. */
  readonly tiers?: Tiers
  /** By job type: the tier of jobs that do not name one. */
  readonly defaultTier?: DefaultTiers
  /** What handlers may spend before a kill switch turns itself on. */
  readonly budgets?: DeclaredBudgets
  /** Conditions that somebody should hear of. */
  readonly alarms?: readonly Alarm[]
  /** What alarms do that name no actions of their own, those on dead letters by default included. */
  readonly alarmActions?: readonly AlarmAction[]
  /** After how long work is called stuck. */
  readonly janitor?: JanitorOptions
}

export interface App<Queues extends DeclaredQueues = DeclaredQueues>
  extends AppDeclaration<Queues> {
  readonly name: string
}

/** What a command calls a function with that a module exports in place of an app. */
export interface AppSettings {
  /** As `--stage` or the variable MILLRACE_STAGE has it; left out when neither names one. */
  readonly stage?: string
  /** A copy of the variables of the process. */
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** An app as it was declared: with the parts that it has, and no others. */
export type DefinedApp<Queues extends DeclaredQueues, Parts extends DeclaredFlowParts> = Omit<
  App<Queues>,
  keyof DeclaredFlowParts
> &
  Pick<Parts, keyof Parts & keyof DeclaredFlowParts>

/** The flows as declared, each with queues that the app has. */
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

/** A queue that was left out is any text, since the compiler fills it in from what surrounds it. */
type Known<Keys extends string, Key extends string> = string extends Key
  ? Key
  : [Key] extends [Keys]
    ? Key
    : Keys

/** Of an app that is built on queues alone. */
export type NoParts = Readonly<Record<never, never>>

/** One part of an app, such as its flows: by the keys under which they were declared. */
export type PartOf<Parts, Name extends keyof DeclaredFlowParts> = Name extends keyof Parts
  ? Exclude<Parts[Name], undefined>
  : NoParts

/**
 * How fan-out and fan-in are declared: `flow({ units: 'extract', finalize: 'finalize' })`. A flow is opened
 * with its units, one message or job each. It ends once, when its last unit has ended.
 */
import type { Duration } from '../core/durations.ts'

export interface FlowOptions<
  Units extends string = string,
  Finalize extends string = string,
  Failed extends string = string,
> {
  /** The key of the queue that gets the messages or jobs of the units. */
  readonly units: Units
  /** The key of the queue that gets one message when the flow ends. Default: none. */
  readonly finalize?: Finalize
  /** The key of the queue that gets one message if the flow fails. Default: none. */
  readonly failed?: Failed
  /**
   * What happens after a unit has failed for good. `'wait'`: the flow stays open until the unit is resumed.
   * `'fail'`: the flow fails at once. `'finalize'`: the flow ends without that unit when no unit is pending.
   * Default `'wait'`.
   */
  readonly onUnitFailure?: 'wait' | 'fail' | 'finalize'
  /** How long after its opening a flow is overdue, 1s to 366d. Default: never. */
  readonly deadline?: Duration
  /** What happens to an overdue flow. Default `'report'`: it is marked overdue and continues. */
  readonly onDeadline?: 'report' | 'fail' | 'finalize'
  /** Keeps a copy of each unit's message, so that `resume` works without passing it again. Default: false. */
  readonly keepWork?: boolean
  /** How long the record of a flow is kept after it ends, 1m to 10 years. Default 30d. */
  readonly keep?: Duration
}

export interface DeclaredFlow<
  Units extends string = string,
  Finalize extends string = string,
  Failed extends string = string,
> {
  readonly kind: 'flow'
  readonly options: FlowOptions<Units, Finalize, Failed>
}

export type DeclaredFlows = Readonly<Record<string, DeclaredFlow>>

export const defaultFlowKeep: Duration = '30d'

/** Declares a flow. */
export function flow<
  const Units extends string,
  const Finalize extends string = never,
  const Failed extends string = never,
>(options: FlowOptions<Units, Finalize, Failed>): DeclaredFlow<Units, Finalize, Failed> {
  return { kind: 'flow', options }
}

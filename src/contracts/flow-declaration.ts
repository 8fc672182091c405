/**
 * How fan-out and fan-in are declared: `flow({ units: 'extract', finalize: 'finalize' })`. A flow is
 * opened with its units, one message or job each, and ends once: when the last of them has ended.
 */
import type { Duration } from '../core/durations.ts'

export interface FlowOptions<
  Units extends string = string,
  Finalize extends string = string,
  Failed extends string = string,
> {
  /** The key of the queue that takes the messages or jobs of units. */
  readonly units: Units
  /** The key of the queue that hears of the end, once. Default: nobody does. */
  readonly finalize?: Finalize
  /** The key of the queue that hears of a failure, once. Default: nobody does. */
  readonly failed?: Failed
  /**
   * What a unit that is given up means: `'wait'` for it to be brought back, `'fail'` at once, or
   * `'finalize'` with what there is when no unit is pending any more. Default `'wait'`.
   */
  readonly onUnitFailure?: 'wait' | 'fail' | 'finalize'
  /** How long after its opening a flow is overdue, 1s to 366d. Default never. */
  readonly deadline?: Duration
  /** What happens to an overdue flow. Default `'report'`: it is marked overdue, and goes on. */
  readonly onDeadline?: 'report' | 'fail' | 'finalize'
  /** Whether the messages of units are remembered, so that a unit can be resumed without them. */
  readonly keepWork?: boolean
  /** How long a flow is remembered after its end. Default 30d, from 1m to 10 years. */
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

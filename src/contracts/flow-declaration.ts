/**
 * How fan-out and fan-in are declared: `flow({ units: 'extract', finalize: 'finalize' })`. A flow is
 * opened with its units, one message each, and ends once: when the last of them has ended.
 */
import type { Duration } from '../core/durations.ts'

export interface FlowOptions<Units extends string = string, End extends string = string> {
  /** The key of the queue that takes the messages or jobs of units. */
  readonly units: Units
  /** The key of the queue that hears of the end, once. Default: nobody does. */
  readonly finalize?: End
  /** The key of the queue that hears of a failure. Default: nobody does. */
  readonly failed?: End
  /**
   * What a unit that is given up means: `'wait'` for it to be brought back, `'fail'` at once, or
   * `'finalize'` with what there is. Default `'wait'`.
   */
  readonly onUnitFailure?: 'wait' | 'fail' | 'finalize'
  /** When an open flow is overdue. Default never. */
  readonly deadline?: Duration
  /** What happens to an overdue flow. Default `'report'`: it is counted and goes on. */
  readonly onDeadline?: 'report' | 'fail' | 'finalize'
  /** How long a flow is remembered after its end. Default 30d. */
  readonly keep?: Duration
}

export interface DeclaredFlow<Units extends string = string, End extends string = string> {
  readonly kind: 'flow'
  readonly options: FlowOptions<Units, End>
}

export type DeclaredFlows = Readonly<Record<string, DeclaredFlow>>

/** Declares a flow. */
export function flow<const Units extends string, const End extends string = never>(
  options: FlowOptions<Units, End>,
): DeclaredFlow<Units, End> {
  return { kind: 'flow', options }
}

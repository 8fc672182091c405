/**
 * How a chain is declared: steps in order, each a message or a job. The successor of a step comes to
 * exist with the step's completion; a step that fails for good stops the chain and is named by it.
 */
import type { Duration } from '../core/durations.ts'

export interface ChainStep {
  /** The key of the queue. */
  readonly queue: string
  /** The job type, if the queue is for jobs. */
  readonly type?: string
  /**
   * What the step is given, from the result of the step before and from what the chain was started
   * with. Default: that result as it is. The first step is given what the chain was started with.
   */
  readonly from?: (result: unknown, start: unknown) => unknown
}

export interface ChainOptions<Steps extends Readonly<Record<string, ChainStep>>> {
  /** By name, in order. */
  readonly steps: Steps
  /** When an unfinished chain is overdue. Default never. */
  readonly deadline?: Duration
  /** How long a chain is remembered after its end. Default 30d. */
  readonly keep?: Duration
}

export interface DeclaredChain<
  Steps extends Readonly<Record<string, ChainStep>> = Readonly<Record<string, ChainStep>>,
> {
  readonly kind: 'chain'
  readonly options: ChainOptions<Steps>
}

export type DeclaredChains = Readonly<Record<string, DeclaredChain>>

/** Declares a chain. */
export function chain<const Steps extends Readonly<Record<string, ChainStep>>>(
  options: ChainOptions<Steps>,
): DeclaredChain<Steps> {
  return { kind: 'chain', options }
}

/**
 * How a chain is declared: steps in order, each a message or a job. The commit that completes a step also
 * creates the next one. A step that fails for good stops the chain, and the chain names it.
 */
import type { Duration } from '../core/durations.ts'

export interface ChainStep {
  /** Unique in its chain. */
  readonly name: string
  /** The key of a standard queue or of a jobs queue. */
  readonly queue: string
  /** The job type, if the queue is a jobs queue. */
  readonly type?: string
  /**
   * Makes the step's message or payload from the result of the step before and the start value of the chain.
   * Default: that result unchanged. The first step gets the start value. Written as a method so that you can
   * annotate both parameters.
   */
  from?(result: unknown, start: unknown): unknown
}

export interface ChainOptions<Steps extends readonly ChainStep[] = readonly ChainStep[]> {
  /** In order, 1 to 100. */
  readonly steps: Steps
  /** How long after its start an unfinished chain is overdue, 1s to 366d. Default: never. */
  readonly deadline?: Duration
  /** How long the record of a chain is kept after it ends, 1m to 10 years. Default 30d. */
  readonly keep?: Duration
}

export interface DeclaredChain<Steps extends readonly ChainStep[] = readonly ChainStep[]> {
  readonly kind: 'chain'
  readonly options: ChainOptions<Steps>
}

export type DeclaredChains = Readonly<Record<string, DeclaredChain>>

/** The names of a chain's steps. */
export type StepName<Chain> =
  Chain extends DeclaredChain<infer Steps> ? Steps[number]['name'] : never

/** Declares a chain. */
export function chain<const Steps extends readonly ChainStep[]>(
  options: ChainOptions<Steps>,
): DeclaredChain<Steps> {
  return { kind: 'chain', options }
}

/**
 * How a chain is declared: steps in order, each a message or a job. The successor of a step comes to
 * exist with the step's completion; a step that fails for good stops the chain and is named by it.
 */
import type { Duration } from '../core/durations.ts'

export interface ChainStep {
  /** Unique in its chain. */
  readonly name: string
  /** The key of a queue: a standard one, or one of jobs. */
  readonly queue: string
  /** The job type, if the queue is for jobs. */
  readonly type?: string
  /**
   * What the step is given, from the result of the step before and from what the chain was started
   * with. Default: that result as it is. The first step is given what the chain was started with.
   * Written as a method so that both may be annotated with what they are known to be.
   */
  from?(result: unknown, start: unknown): unknown
}

export interface ChainOptions<Steps extends readonly ChainStep[] = readonly ChainStep[]> {
  /** In order, 1 to 100. */
  readonly steps: Steps
  /** How long after its start an unfinished chain is overdue, 1s to 366d. Default never. */
  readonly deadline?: Duration
  /** How long a chain is remembered after its end. Default 30d, from 1m to 10 years. */
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

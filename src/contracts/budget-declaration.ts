/** A budget: how much handlers may spend, in money or tokens, before a kill switch turns itself on. */
import type { Duration } from '../core/durations.ts'

export interface Budget {
  /** In the unit of the budget. Handlers report their spending in the same unit. */
  readonly limit: number
  /** What is counted, such as `'tokens'` or `'cents'`, for those who read it. */
  readonly unit?: string
  /**
   * The sum starts again at 0 after each span of this length; `'1d'` starts at midnight UTC. Default: never.
   */
  readonly per?: Duration
  /** The name of the kill switch. It turns itself off when the span ends. */
  readonly trips: string
  /** Whether the switch holds work or diverts it to dead letters. Default `'hold'`. */
  readonly mode?: 'hold' | 'divert'
}

export type DeclaredBudgets = Readonly<Record<string, Budget>>

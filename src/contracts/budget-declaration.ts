/** A budget: what handlers may spend, in money or tokens, before a kill switch turns itself on. */
import type { Duration } from '../core/durations.ts'

export interface Budget {
  /** In any unit; handlers report what they spend in the same one. */
  readonly limit: number
  /** Counted anew in each span of this length, from midnight UTC for `'1d'`. Default: never. */
  readonly per?: Duration
  /** The name of the kill switch. It turns itself off when the span ends. */
  readonly trips: string
  /** Whether the switch holds work (the default) or diverts it to dead letters. */
  readonly mode?: 'hold' | 'divert'
}

export type DeclaredBudgets = Readonly<Record<string, Budget>>

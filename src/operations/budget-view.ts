/** Budgets and their history as all surfaces show them. Field names are API. */
import type { BudgetRecord, BudgetReset, SpentBudget } from '../backends/budget-store.ts'
import { formatDuration } from '../core/durations.ts'
import { isoTime } from '../core/iso-time.ts'

export interface BudgetView
  extends Pick<BudgetRecord, 'spent' | 'limit' | 'unit' | 'tripped' | 'trips' | 'mode'> {
  readonly name: string
  /** The length of a period, such as `1d`; null if the budget never starts over. */
  readonly per: string | null
  /** When the present period ends. */
  readonly ends_at: string | null
  /** The app and stage that declared it last. */
  readonly scope: string
}

export interface SpentBudgetView extends BudgetView {
  /** Whether this spending has turned the switch on. */
  readonly turned_on: boolean
}

export interface BudgetResetView extends Pick<BudgetReset, 'by' | 'note' | 'spent'> {
  readonly at: string
}

export function budgetView(shown: BudgetRecord): BudgetView {
  const { budget, spent, limit, unit, perMs, tripped, trips, mode, scope } = shown
  const per = perMs === null ? null : formatDuration(perMs)
  const ends_at = isoTime(shown.windowEndsAt)
  return { name: budget, spent, limit, unit, per, ends_at, tripped, trips, mode, scope }
}

export function spentBudgetView(shown: SpentBudget): SpentBudgetView {
  return { ...budgetView(shown), turned_on: shown.turnedOn }
}

export function budgetResetView({ at, by, note, spent }: BudgetReset): BudgetResetView {
  return { at: isoTime(at), by, note, spent }
}

/** Checks of arguments about budgets. */
import {
  checkNumber,
  checkOneOf,
  checkRange,
  checkText,
  describeGiven,
  type Violations,
} from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import type { BudgetName, BudgetStore, DeclaredBudget, Spending } from './budget-store.ts'
import { type Checks, checkPage } from './checking.ts'
import { checkSignature } from './switch-checks.ts'

export const budgetChecks: Checks<BudgetStore> = {
  declare: (into, { scope, budgets }) => {
    checkText(into, 'scope', scope, limits.alarmOwnerLength)
    checkRange(into, 'budgets: count', budgets.length, limits.budgetsPerCall)
    for (const declared of budgets) checkDeclared(into, declared)
  },
  spend: (into, request) => {
    checkName(into, request)
    checkNumber(into, 'amount', request.amount, limits.budgetAmount)
  },
  reset: (into, request) => {
    checkName(into, request)
    checkSignature(into, request)
  },
  read: checkName,
  list: null,
  resets: (into, request) => {
    checkName(into, request)
    checkPage(into, request)
  },
}

function checkName(into: Violations, { budget }: BudgetName): void {
  checkText(into, 'budget', budget, limits.switchNameLength)
}

function checkDeclared(into: Violations, declared: DeclaredBudget): void {
  const { limit, perMs, unit, trips, mode } = declared
  checkName(into, declared)
  checkNumber(into, 'limit', limit, limits.budgetAmount)
  if (perMs !== null) checkRange(into, 'perMs', perMs, limits.budgetMs)
  if (unit !== null) checkText(into, 'unit', unit, limits.budgetUnitLength)
  checkText(into, 'trips', trips, limits.switchNameLength)
  checkOneOf(into, 'mode', mode, ['hold', 'divert'])
}

/** Amounts that were spent on a delivery. A violation names the budget, not its place in the list. */
export function checkSpendings(into: Violations, spent: readonly Spending[]): void {
  if (!Array.isArray(spent)) {
    into.push({ field: 'spent', given: describeGiven(spent), allowed: 'amounts by budget' })
    return
  }
  checkRange(into, 'spent: count', spent.length, limits.budgetsPerCall)
  for (const spending of spent) {
    const { budget, amount }: Partial<Spending> = Object(spending)
    checkText(into, 'spent', budget, limits.switchNameLength)
    const field = `spent.${String(budget).slice(0, limits.switchNameLength.max)}`
    checkNumber(into, field, amount, limits.budgetAmount)
  }
}

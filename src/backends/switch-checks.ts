/** Checks of arguments about kill switches and budgets. */
import {
  checkOneOf,
  checkRange,
  checkText,
  describeGiven,
  type Violations,
} from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { type Checks, checkPage } from './checking.ts'
import type { BudgetWindow, SwitchStore, SwitchTarget } from './switch-store.ts'

export const switchChecks: Checks<SwitchStore> = {
  set: (into, request) => {
    checkTarget(into, '', request)
    checkOneOf(into, 'mode', request.mode, ['hold', 'divert'])
    checkSignature(into, request)
    if (request.forMs !== undefined) {
      checkRange(into, 'forMs', request.forMs, limits.switchMs)
    }
  },
  lift: (into, request) => {
    checkTarget(into, '', request)
    checkSignature(into, request)
  },
  list: null,
  history: checkPage,
  spend: (into, request) => {
    checkWindow(into, request)
    checkAmount(into, 'amount', request.amount)
    checkTarget(into, 'trips.', request.trips)
    checkOneOf(into, 'trips.mode', request.trips.mode, ['hold', 'divert'])
  },
  budget: checkWindow,
}

function checkTarget(into: Violations, prefix: string, { scope, value }: SwitchTarget): void {
  checkOneOf(into, `${prefix}scope`, scope, ['queue', 'type', 'tier', 'tenant', 'name'])
  checkText(into, `${prefix}value`, value, limits.switchValueLength)
}

function checkSignature(
  into: Violations,
  { by, note }: { readonly by: string; readonly note?: string },
): void {
  checkText(into, 'by', by, limits.switchByLength)
  if (note !== undefined) checkText(into, 'note', note, limits.switchNoteLength)
}

function checkWindow(into: Violations, { budget, perMs, limit }: BudgetWindow): void {
  checkText(into, 'budget', budget, limits.switchNameLength)
  if (perMs !== null) checkRange(into, 'perMs', perMs, limits.budgetMs)
  checkAmount(into, 'limit', limit)
}

function checkAmount(into: Violations, field: string, value: unknown): void {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return
  into.push({ field, given: describeGiven(value), allowed: 'a number, 0 or more' })
}

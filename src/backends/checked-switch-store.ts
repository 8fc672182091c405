/** Checks every argument about kill switches and budgets, as checked-backend.ts does for messages. */
import {
  checkOneOf,
  checkRange,
  checkText,
  describeGiven,
  type Violations,
} from '../core/checks.ts'
import { limits } from '../core/limits.ts'
import { check } from './checking.ts'
import type { BudgetWindow, SwitchStore, SwitchTarget } from './switch-store.ts'

export function checkedSwitchStore(store: SwitchStore): SwitchStore {
  return {
    set: async (request) => {
      check((into) => {
        checkTarget(into, '', request)
        checkOneOf(into, 'mode', request.mode, ['hold', 'divert'])
        checkSignature(into, request)
        if (request.forMs !== undefined) {
          checkRange(into, 'forMs', request.forMs, limits.switchMs)
        }
      })
      return store.set(request)
    },
    lift: async (request) => {
      check((into) => {
        checkTarget(into, '', request)
        checkSignature(into, request)
      })
      return store.lift(request)
    },
    list: () => store.list(),
    history: async (request) => {
      check((into) => checkRange(into, 'limit', request.limit, limits.pageSize))
      return store.history(request)
    },
    spend: async (request) => {
      check((into) => {
        checkWindow(into, request)
        checkAmount(into, 'amount', request.amount)
        checkTarget(into, 'trips.', request.trips)
        checkOneOf(into, 'trips.mode', request.trips.mode, ['hold', 'divert'])
      })
      return store.spend(request)
    },
    budget: async (request) => {
      check((into) => checkWindow(into, request))
      return store.budget(request)
    },
  }
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

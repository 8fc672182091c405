/** Budgets: the spending of the present window, and the switch that turns on when the limit is reached. */

import type { BudgetState, BudgetWindow, Spend } from '../../switch-store.ts'
import { change, query } from '../driver/statements.ts'
import type { StoreTransaction, StoreView } from '../driver/transaction.ts'
import { turnOn } from './switches.ts'

const sql = {
  read: query<{ spent: number }>('SELECT spent FROM budget WHERE name = ? AND window_start = ?'),
  write: change('INSERT OR REPLACE INTO budget (name, window_start, spent) VALUES (?, ?, ?)'),
}

/** The part of a limit that a long sum of fractions may lose to rounding. */
const roundingError = 1e-9

function isReached(spent: number, limit: number): boolean {
  return spent >= limit * (1 - roundingError)
}

export function spendBudget(tx: StoreTransaction, request: Spend): BudgetState {
  const { budget, limit, amount } = request
  const { start, end } = windowAt(request, tx.now)
  const before = spentSince(tx, budget, start)
  const spent = before + amount
  tx.run(sql.write, budget, start, spent)
  tx.wroteRow()
  const tripped = isReached(spent, limit) && trip(tx, request, end)
  return { spent, limit, windowEndsAt: end, tripped }
}

export function budgetState(view: StoreView, request: BudgetWindow): BudgetState {
  const { budget, limit } = request
  const { start, end } = windowAt(request, view.now)
  const spent = spentSince(view, budget, start)
  return { spent, limit, windowEndsAt: end, tripped: isReached(spent, limit) }
}

/** Turns the switch on, unless it is on at least as long; false when there was nothing to do. */
function trip(tx: StoreTransaction, { budget, trips }: Spend, until: number | null): boolean {
  const { scope, value, mode } = trips
  const present = tx.session.queues.switches.find(scope, value, tx.now)
  const lasts =
    present !== undefined && (present.until === null || (until !== null && present.until >= until))
  if (lasts) return false
  turnOn(tx, { scope, value, mode, by: `budget ${budget}`, note: null, setAt: tx.now, until })
  return true
}

function windowAt({ perMs }: BudgetWindow, now: number): { start: number; end: number | null } {
  if (perMs === null) return { start: 0, end: null }
  const start = Math.floor(now / perMs) * perMs
  return { start, end: start + perMs }
}

function spentSince(view: StoreView, budget: string, start: number): number {
  return view.one(sql.read, budget, start)?.spent ?? 0
}

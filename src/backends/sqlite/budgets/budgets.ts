/** Budgets: the spending of the present window, and the switch that turns on when the limit is reached. */

import { MillraceError } from '../../../core/millrace-error.ts'
import type {
  BudgetName,
  BudgetRecord,
  BudgetReset,
  DeclareBudgets,
  DeclaredBudget,
  ListResets,
  ResetBudget,
  Spend,
  Spending,
  SpentBudget,
  SpentOn,
} from '../../budget-store.ts'
import type { Page } from '../../stored-message.ts'
import { numberedPage, numberOf } from '../driver/numbered-pages.ts'
import { change, query, upTo } from '../driver/statements.ts'
import type { StoreTransaction, StoreView } from '../driver/transaction.ts'
import { receiptFor } from '../messages/leases.ts'
import { liftSwitch, turnOn } from '../switches/switches.ts'
import { addSpending, type SpendingWork, workOf } from './spending.ts'

const columns = 'name AS budget, scope, limit_amount AS "limit", per_ms AS perMs, unit, trips, mode'

const sql = {
  find: query<BudgetRow>(`SELECT ${columns} FROM declared_budget WHERE name = ?`),
  list: query<BudgetRow>(`SELECT ${columns} FROM declared_budget ORDER BY name`),
  declare: change(`
    INSERT OR REPLACE INTO declared_budget (name, scope, limit_amount, per_ms, unit, trips, mode)
    VALUES (?, ?, ?, ?, ?, ?, ?)`),
  remove: change('DELETE FROM declared_budget WHERE name = ?'),
  read: query<{ spent: number }>('SELECT spent FROM budget WHERE name = ? AND window_start = ?'),
  write: change('INSERT OR REPLACE INTO budget (name, window_start, spent) VALUES (?, ?, ?)'),
  noteReset: change(`
    INSERT INTO budget_reset (budget, by, note, at, spent) VALUES (?, ?, ?, ?, ?)`),
  resets: query<BudgetReset & { readonly number: number }>(`
    SELECT number, budget, by, note, at, spent FROM budget_reset
    WHERE budget = ? AND number < ? ORDER BY number DESC ${upTo}`),
}

interface BudgetRow extends DeclaredBudget {
  readonly scope: string
}

/** The part of a limit that a long sum of fractions may lose to rounding. */
const roundingError = 1e-9

export function declareBudgets(tx: StoreTransaction, { scope, budgets }: DeclareBudgets): void {
  const known = new Map(tx.all(sql.list).map((row) => [row.budget, row]))
  for (const declared of budgets) {
    const { budget, limit, perMs, unit, trips, mode } = declared
    const row = known.get(budget)
    if (row?.scope === scope && isSame(row, declared)) continue
    tx.run(sql.declare, budget, scope, limit, perMs, unit, trips, mode)
    tx.wroteRow()
  }
  const names = new Set(budgets.map(({ budget }) => budget))
  for (const row of known.values()) {
    if (row.scope !== scope || names.has(row.budget)) continue
    tx.run(sql.remove, row.budget)
    tx.wroteRow()
  }
}

function isSame(row: DeclaredBudget, declared: DeclaredBudget): boolean {
  const { limit, perMs, unit, trips, mode } = declared
  return (
    row.limit === limit &&
    row.perMs === perMs &&
    row.unit === unit &&
    row.trips === trips &&
    row.mode === mode
  )
}

export function spendBudget(tx: StoreTransaction, request: Spend): SpentBudget {
  return spend(tx, request, request.on && workOfReceipt(tx, request.on))
}

/** Spends on a delivery that is being settled, or reports its progress. */
export function spendOn(
  tx: StoreTransaction,
  spendings: readonly Spending[],
  work: SpendingWork | undefined,
): void {
  for (const spending of spendings) spend(tx, spending, work)
}

/** The first budget that no app has declared, as an error. */
export function refuseSpendings(
  view: StoreView,
  spendings: readonly Spending[],
): MillraceError | undefined {
  const unknown = spendings.find(({ budget }) => view.one(sql.find, budget) === undefined)
  return unknown && budgetNotFound(unknown.budget)
}

function spend(
  tx: StoreTransaction,
  { budget, amount }: Spending,
  work: SpendingWork | undefined,
): SpentBudget {
  const row = requireBudget(tx, budget)
  const { start } = windowAt(row, tx.now)
  tx.run(sql.write, budget, start, spentSince(tx, budget, start) + amount)
  if (work !== undefined) addSpending(tx, work, { budget, amount })
  tx.wroteRow()
  const record = recordOf(tx, row)
  return { ...record, turnedOn: record.tripped && trip(tx, record) }
}

/** The queue may be deleted: the amount is spent all the same. */
function workOfReceipt(
  tx: StoreTransaction,
  { queue, receipt }: SpentOn,
): SpendingWork | undefined {
  const found = tx.session.queues.find(queue)
  const named = found && receiptFor(found, receipt)
  return named && workOf(tx, named.sequence)
}

export function resetBudget(tx: StoreTransaction, request: ResetBudget): BudgetRecord {
  const { budget, by, note = null } = request
  const row = requireBudget(tx, budget)
  const { spent } = recordOf(tx, row)
  tx.run(sql.write, budget, windowAt(row, tx.now).start, 0)
  tx.run(sql.noteReset, budget, by, note, tx.now, spent)
  tx.wroteRow()
  liftOwn(tx, row, { by, note: note ?? `budget ${budget} was reset` })
  return recordOf(tx, row)
}

/** Lifts the switch that this budget has turned on. Another budget may have reached its limit too. */
function liftOwn(
  tx: StoreTransaction,
  { budget, trips }: BudgetRow,
  signature: { readonly by: string; readonly note: string },
): void {
  const target = { scope: 'name', value: trips } as const
  const present = tx.session.queues.switches.find(target.scope, target.value, tx.now)
  if (present?.by !== signatureOf(budget)) return
  liftSwitch(tx, { ...target, ...signature })
  const others = tx.all(sql.list).filter((other) => other.trips === trips)
  for (const other of others.map((one) => recordOf(tx, one))) if (other.tripped) trip(tx, other)
}

export function readBudget(view: StoreView, { budget }: BudgetName): BudgetRecord | undefined {
  const row = view.one(sql.find, budget)
  return row && recordOf(view, row)
}

export function listBudgets(view: StoreView): readonly BudgetRecord[] {
  return view.all(sql.list).map((row) => recordOf(view, row))
}

/** A budget that no app declares any more still has a history. */
export function listResets(view: StoreView, request: ListResets): Page<BudgetReset> {
  const { budget, after, limit } = request
  const before = after === undefined ? Number.MAX_SAFE_INTEGER : numberOf(after)
  const rows = view.all(sql.resets, budget, before, limit + 1)
  if (rows.length === 0) requireBudget(view, budget)
  return numberedPage(rows, limit, ({ number: _, ...reset }) => reset)
}

/** Turns the switch on, unless it is on at least as long; false when there was nothing to do. */
function trip(tx: StoreTransaction, record: BudgetRecord): boolean {
  const { budget, trips: value, mode, windowEndsAt: until } = record
  const present = tx.session.queues.switches.find('name', value, tx.now)
  const lasts =
    present !== undefined && (present.until === null || (until !== null && present.until >= until))
  if (lasts) return false
  const by = signatureOf(budget)
  turnOn(tx, { scope: 'name', value, mode, by, note: null, setAt: tx.now, until })
  return true
}

/** How the history of switches names a budget. */
function signatureOf(budget: string): string {
  return `budget ${budget}`
}

function recordOf(view: StoreView, row: BudgetRow): BudgetRecord {
  const { start, end } = windowAt(row, view.now)
  const spent = spentSince(view, row.budget, start)
  const tripped = spent >= row.limit * (1 - roundingError)
  return { ...row, spent, windowEndsAt: end, tripped }
}

function windowAt(
  { perMs }: Pick<DeclaredBudget, 'perMs'>,
  now: number,
): { start: number; end: number | null } {
  if (perMs === null) return { start: 0, end: null }
  const start = Math.floor(now / perMs) * perMs
  return { start, end: start + perMs }
}

function spentSince(view: StoreView, budget: string, start: number): number {
  return view.one(sql.read, budget, start)?.spent ?? 0
}

function requireBudget(view: StoreView, budget: string): BudgetRow {
  const row = view.one(sql.find, budget)
  if (row === undefined) throw budgetNotFound(budget)
  return row
}

function budgetNotFound(budget: string): MillraceError {
  return new MillraceError('budget_not_found', {
    message: `No app declares the budget '${budget}'.`,
  })
}

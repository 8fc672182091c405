/** Budgets: the spending of the present window, and the switch that turns on when the limit is reached. */

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
} from '../../backends/budget-store.ts'
import type { Page } from '../../backends/stored-message.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { receiptFor } from '../messages/leases.ts'
import { numberedPage, numberOf } from '../numbered-pages.ts'
import { change, orReplace, query, upTo } from '../statements.ts'
import { inTurn, type Steps } from '../steps.ts'
import { liftSwitch, turnOn } from '../switches/switches.ts'
import type { Transaction, View } from '../transaction.ts'
import { addSpending, type SpendingWork, workOf } from './spending.ts'

const columns =
  'name AS budget, scope, limit_amount AS "limit", per_ms AS "perMs", unit, trips, mode'

const sql = {
  find: query<BudgetRow>(`SELECT ${columns} FROM declared_budget WHERE name = ?`),
  list: query<BudgetRow>(`SELECT ${columns} FROM declared_budget ORDER BY name`),
  declare: change(`
    INSERT INTO declared_budget (name, scope, limit_amount, per_ms, unit, trips, mode)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ${orReplace('name', 'scope, limit_amount, per_ms, unit, trips, mode')}`),
  remove: change('DELETE FROM declared_budget WHERE name = ?'),
  read: query<{ spent: number }>('SELECT spent FROM budget WHERE name = ? AND window_start = ?'),
  write: change(`INSERT INTO budget (name, window_start, spent) VALUES (?, ?, ?)
    ${orReplace('name', 'window_start, spent')}`),
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

export function* declareBudgets(tx: Transaction, { scope, budgets }: DeclareBudgets): Steps<void> {
  const known = new Map((yield* tx.all(sql.list)).map((row) => [row.budget, row]))
  for (const declared of budgets) {
    const { budget, limit, perMs, unit, trips, mode } = declared
    const row = known.get(budget)
    if (row?.scope === scope && isSame(row, declared)) continue
    yield* tx.run(sql.declare, budget, scope, limit, perMs, unit, trips, mode)
    tx.wroteRow()
  }
  const names = new Set(budgets.map(({ budget }) => budget))
  for (const row of known.values()) {
    if (row.scope !== scope || names.has(row.budget)) continue
    yield* tx.run(sql.remove, row.budget)
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

export function* spendBudget(tx: Transaction, request: Spend): Steps<SpentBudget> {
  return yield* spend(tx, request, request.on && (yield* workOfReceipt(tx, request.on)))
}

/** Spends on a delivery that is being settled, or reports its progress. */
export function* spendOn(
  tx: Transaction,
  spendings: readonly Spending[],
  work: SpendingWork | undefined,
): Steps<void> {
  for (const spending of spendings) yield* spend(tx, spending, work)
}

/** The first budget that no app has declared, as an error. */
export function* refuseSpendings(
  view: View,
  spendings: readonly Spending[],
): Steps<MillraceError | undefined> {
  for (const { budget } of spendings) {
    if ((yield* view.one(sql.find, budget)) === undefined) return budgetNotFound(budget)
  }
  return undefined
}

function* spend(
  tx: Transaction,
  { budget, amount }: Spending,
  work: SpendingWork | undefined,
): Steps<SpentBudget> {
  yield* tx.lock(`budget:${budget}`)
  const row = yield* requireBudget(tx, budget)
  const { start } = windowAt(row, tx.now)
  yield* tx.run(sql.write, budget, start, (yield* spentSince(tx, budget, start)) + amount)
  if (work !== undefined) yield* addSpending(tx, work, { budget, amount })
  tx.wroteRow()
  const record = yield* recordOf(tx, row)
  return { ...record, turnedOn: record.tripped && (yield* trip(tx, record)) }
}

/** The queue may be deleted: the amount is spent all the same. */
function* workOfReceipt(
  tx: Transaction,
  { queue, receipt }: SpentOn,
): Steps<SpendingWork | undefined> {
  const found = yield* tx.findQueue(queue)
  const named = found && receiptFor(tx, found, receipt)
  return named && (yield* workOf(tx, named.sequence))
}

export function* resetBudget(tx: Transaction, request: ResetBudget): Steps<BudgetRecord> {
  yield* tx.lock(`budget:${request.budget}`)
  const { budget, by, note = null } = request
  const row = yield* requireBudget(tx, budget)
  const { spent } = yield* recordOf(tx, row)
  yield* tx.run(sql.write, budget, windowAt(row, tx.now).start, 0)
  yield* tx.run(sql.noteReset, budget, by, note, tx.now, spent)
  tx.wroteRow()
  yield* liftOwn(tx, row, { by, note: note ?? `budget ${budget} was reset` })
  return yield* recordOf(tx, row)
}

/** Lifts the switch that this budget has turned on. Another budget may have reached its limit too. */
function* liftOwn(
  tx: Transaction,
  { budget, trips }: BudgetRow,
  signature: { readonly by: string; readonly note: string },
): Steps<void> {
  const target = { scope: 'name', value: trips } as const
  const present = tx.switches.find(target.scope, target.value, tx.now)
  if (present?.by !== signatureOf(budget)) return
  yield* liftSwitch(tx, { ...target, ...signature })
  const others = (yield* tx.all(sql.list)).filter((other) => other.trips === trips)
  for (const other of yield* inTurn(others, (one) => recordOf(tx, one)))
    if (other.tripped) yield* trip(tx, other)
}

export function* readBudget(view: View, { budget }: BudgetName): Steps<BudgetRecord | undefined> {
  const row = yield* view.one(sql.find, budget)
  return row && (yield* recordOf(view, row))
}

export function* listBudgets(view: View): Steps<readonly BudgetRecord[]> {
  return yield* inTurn(yield* view.all(sql.list), (row) => recordOf(view, row))
}

/** A budget that no app declares any more still has a history. */
export function* listResets(view: View, request: ListResets): Steps<Page<BudgetReset>> {
  const { budget, after, limit } = request
  const before = after === undefined ? Number.MAX_SAFE_INTEGER : numberOf(after)
  const rows = yield* view.all(sql.resets, budget, before, limit + 1)
  if (rows.length === 0) yield* requireBudget(view, budget)
  return numberedPage(rows, limit, ({ number: _, ...reset }) => reset)
}

/** Turns the switch on, unless it is on at least as long; false when there was nothing to do. */
function* trip(tx: Transaction, record: BudgetRecord): Steps<boolean> {
  const { budget, trips: value, mode, windowEndsAt: until } = record
  const present = tx.switches.find('name', value, tx.now)
  const lasts =
    present !== undefined && (present.until === null || (until !== null && present.until >= until))
  if (lasts) return false
  const by = signatureOf(budget)
  yield* turnOn(tx, { scope: 'name', value, mode, by, note: null, setAt: tx.now, until })
  return true
}

/** How the history of switches names a budget. */
function signatureOf(budget: string): string {
  return `budget ${budget}`
}

function* recordOf(view: View, row: BudgetRow): Steps<BudgetRecord> {
  const { start, end } = windowAt(row, view.now)
  const spent = yield* spentSince(view, row.budget, start)
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

function* spentSince(view: View, budget: string, start: number): Steps<number> {
  return (yield* view.one(sql.read, budget, start))?.spent ?? 0
}

function* requireBudget(view: View, budget: string): Steps<BudgetRow> {
  const row = yield* view.one(sql.find, budget)
  if (row === undefined) throw budgetNotFound(budget)
  return row
}

function budgetNotFound(budget: string): MillraceError {
  return new MillraceError('budget_not_found', {
    message: `No app declares the budget '${budget}'.`,
  })
}

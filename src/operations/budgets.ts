/** Budgets: spends from them, reads and resets them. Works with the budgets of an app, or of a whole store. */

import type { Backend, Page } from '../backends/backend.ts'
import type {
  BudgetRecord,
  BudgetReset,
  BudgetStore,
  DeclaredBudget,
  SpentBudget,
  SpentOn,
} from '../backends/budget-store.ts'
import type { DeclaredBudgets } from '../contracts/budget-declaration.ts'
import { didYouMean } from '../core/did-you-mean.ts'
import { durationMs } from '../core/durations.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { type OptionNames, pageOptions, refuseUnknownOptions } from '../core/options.ts'
import { supported } from '../core/supported.ts'

export interface Budgets {
  /** Adds to the spending of a budget at once. In a handler, use `context.spend`, which also counts for the job. */
  spend(budget: string, amount: number): Promise<SpentBudget>
  read(budget: string): Promise<BudgetRecord>
  /** By name. */
  list(): Promise<readonly BudgetRecord[]>
  /** Spending starts at 0 again. The switch is lifted if this budget had turned it on. */
  reset(budget: string, options: ResetBudgetOptions): Promise<BudgetRecord>
  /** When the budget was reset and by whom, newest first. */
  history(budget: string, options?: BudgetHistoryOptions): Promise<Page<BudgetReset>>
}

export interface ResetBudgetOptions {
  /** The person or program, for the history. */
  readonly by: string
  readonly note?: string
}

export interface BudgetHistoryOptions {
  readonly limit?: number
  readonly after?: string
}

const resetOptions: OptionNames<ResetBudgetOptions> = { by: true, note: true }

export interface BudgetsSetup {
  readonly backend: Pick<Backend, 'budgets'>
  /** The app whose budgets can be used. Default: all budgets that the store knows. */
  readonly app?: BudgetsOfApp
}

export interface BudgetsOfApp {
  /** As `app/stage`. */
  readonly scope: string
  readonly budgets: DeclaredBudgets | undefined
}

/** Budgets for those who run handlers. */
export interface HandlerBudgets extends Budgets {
  /** Adds to the spending of a budget, and to that of the delivery's job and flow. */
  spendOn(on: SpentOn, budget: string, amount: number): Promise<SpentBudget>
}

export function createBudgets({ backend, app }: BudgetsSetup): HandlerBudgets {
  const store = (): BudgetStore => supported(backend.budgets)
  const call = async <T>(name: string, run: (budgets: BudgetStore) => Promise<T>): Promise<T> => {
    if (app === undefined) return run(store())
    refuseUndeclared(name, app)
    try {
      return await run(store())
    } catch (error) {
      if (!(error instanceof MillraceError) || error.code !== 'budget_not_found') throw error
      // Another version of the app, without this budget, was opened since.
      await declareBudgets({ backend, app })
      return run(store())
    }
  }
  return {
    spend: (budget, amount) => call(budget, (budgets) => budgets.spend({ budget, amount })),
    spendOn: (on, budget, amount) =>
      call(budget, (budgets) => budgets.spend({ budget, amount, on })),
    read: (budget) => call(budget, (budgets) => requireBudget(budgets, budget)),
    list: async () => {
      const all = await store().list()
      return app === undefined ? all : all.filter(({ budget }) => isDeclared(budget, app))
    },
    reset: async (budget, options) => {
      refuseUnknownOptions(options, resetOptions)
      const { by, note } = options
      const request = { budget, by, ...(note !== undefined && { note }) }
      return call(budget, (budgets) => budgets.reset(request))
    },
    history: async (budget, options = {}) => {
      refuseUnknownOptions(options, pageOptions)
      const { limit = 100, after } = options
      const request = { budget, limit, ...(after !== undefined && { after }) }
      return call(budget, (budgets) => budgets.resets(request))
    },
  }
}

/** Records the budgets of an app in its store. */
export async function declareBudgets({
  backend,
  app: { scope, budgets = {} },
}: Required<BudgetsSetup>): Promise<void> {
  const declared = Object.entries(budgets).map(
    ([budget, { limit, per, unit = null, trips, mode = 'hold' }]): DeclaredBudget => {
      const perMs = per === undefined ? null : durationMs(per)
      return { budget, limit, perMs, unit, trips, mode }
    },
  )
  if (backend.budgets === null && declared.length === 0) return
  await supported(backend.budgets).declare({ scope, budgets: declared })
}

async function requireBudget(budgets: BudgetStore, budget: string): Promise<BudgetRecord> {
  const record = await budgets.read({ budget })
  if (record !== undefined) return record
  const names = (await budgets.list()).map((one) => one.budget)
  throw budgetNotFound(budget, names)
}

function isDeclared(name: string, { budgets = {} }: BudgetsOfApp): boolean {
  return Object.hasOwn(budgets, name)
}

function refuseUndeclared(name: string, app: BudgetsOfApp): void {
  if (!isDeclared(name, app)) throw budgetNotFound(name, Object.keys(app.budgets ?? {}))
}

function budgetNotFound(name: string, names: readonly string[]): MillraceError {
  const given = String(name).slice(0, 40)
  const hint = didYouMean(given, names)
  const message = `No app declares the budget '${given}'${hint || '.'}`
  return new MillraceError('budget_not_found', { message })
}

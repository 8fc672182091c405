/**
 * Budgets: the part of a backend that sums up what handlers have spent, and turns a kill switch on when the
 * limit is reached. The store knows each budget from the app that declares it, so that every program spends
 * by the same rule, and operators can read and reset a budget without the app.
 */
import type { Page, QueueName } from './stored-message.ts'
import type { SwitchMode } from './switch-store.ts'

export interface BudgetStore {
  /**
   * Records the budgets of an app. Those that the same scope has declared before and does not have any more
   * are removed. A budget of this name keeps its spending, whichever app has declared it.
   */
  declare(request: DeclareBudgets): Promise<void>
  /** Adds to the spending; turns the switch on, in the same commit, once the limit is reached. */
  spend(request: Spend): Promise<SpentBudget>
  /**
   * The spending of the present window becomes 0. If this budget has turned its switch on, the switch is
   * lifted, unless another budget keeps it on.
   */
  reset(request: ResetBudget): Promise<BudgetRecord>
  /** Undefined when no app has declared the budget. */
  read(request: BudgetName): Promise<BudgetRecord | undefined>
  /** By name. */
  list(): Promise<readonly BudgetRecord[]>
  /** When a budget was reset and by whom, newest first. */
  resets(request: ListResets): Promise<Page<BudgetReset>>
}

export interface BudgetName {
  readonly budget: string
}

export interface DeclaredBudget extends BudgetName {
  readonly limit: number
  /** Windows of this length follow each other without a gap; null: one that never ends. */
  readonly perMs: number | null
  /** What is counted, such as `tokens`. */
  readonly unit: string | null
  /** The name of the switch to turn on when the limit is reached, until the window ends. */
  readonly trips: string
  readonly mode: SwitchMode
}

export interface DeclareBudgets {
  /** Which app and stage, as `app/stage`. */
  readonly scope: string
  readonly budgets: readonly DeclaredBudget[]
}

/** An amount of one budget, in its own unit. */
export interface Spending extends BudgetName {
  readonly amount: number
}

export interface Spend extends Spending {
  /**
   * The delivery that it was spent on. It is added to the spending of its job and of its flow. The lease may
   * have ended: the amount is spent all the same.
   */
  readonly on?: SpentOn
}

export interface SpentOn extends QueueName {
  readonly receipt: string
}

/** Amounts by budget. */
export type Spent = Readonly<Record<string, number>>

export interface BudgetRecord extends DeclaredBudget {
  readonly scope: string
  /** In the present window. */
  readonly spent: number
  /** When the present window ends; null when it never does. */
  readonly windowEndsAt: number | null
  /** The limit is reached in the present window. */
  readonly tripped: boolean
}

export interface SpentBudget extends BudgetRecord {
  /** Whether this call has turned the switch on. */
  readonly turnedOn: boolean
}

export interface ResetBudget extends BudgetName {
  /** Who did it, for the record. */
  readonly by: string
  readonly note?: string
}

export interface BudgetReset extends BudgetName {
  readonly by: string
  readonly note: string | null
  readonly at: number
  /** What had been spent in the window. */
  readonly spent: number
}

export interface ListResets extends BudgetName {
  readonly after?: string
  readonly limit: number
}

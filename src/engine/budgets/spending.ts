/**
 * What jobs and flows have spent, by budget. A row is written only when something is spent, and goes with
 * its job or flow.
 */

import type { Spending, Spent } from '../../backends/budget-store.ts'
import { change, lookUp, query, type Statement } from '../statements.ts'
import type { Steps } from '../steps.ts'
import type { Transaction, View } from '../transaction.ts'

const flowOf = lookUp('flow', 'flow.number = above.number')

const sql = {
  // The message of a finished job may still exist as a dead letter.
  work: query<{ is_job: 0 | 1; unit: number | null }>(`
    SELECT 1 AS is_job, unit FROM finished_job WHERE number = ?
    UNION ALL
    SELECT CASE WHEN job_type IS NULL THEN 0 ELSE 1 END AS is_job, unit FROM message WHERE sequence = ?
    LIMIT 1`),
  addToJob: change(`
    INSERT INTO job_spending (number, budget, amount) VALUES (?, ?, ?)
    ON CONFLICT (number, budget) DO UPDATE SET amount = job_spending.amount + excluded.amount`),
  // A flow that has taken the place of a unit is part of the cost of that unit's flow.
  addToFlows: change(`
    INSERT INTO flow_spending (flow, budget, amount)
    WITH RECURSIVE above (number) AS (
      SELECT flow FROM flow_unit WHERE number = ?
      UNION
      SELECT flow.parent_flow FROM above ${flowOf}
      WHERE flow.parent_flow IS NOT NULL
    )
    SELECT flow.number, ?, ? FROM above ${flowOf} WHERE true
    ON CONFLICT (flow, budget) DO UPDATE SET amount = flow_spending.amount + excluded.amount`),
  ofJob: query<Spending>('SELECT budget, amount FROM job_spending WHERE number = ?'),
  ofFlow: query<Spending>('SELECT budget, amount FROM flow_spending WHERE flow = ?'),
}

export const forgetJobSpending: Statement = change('DELETE FROM job_spending WHERE number = ?')
export const forgetFlowSpending: Statement = change('DELETE FROM flow_spending WHERE flow = ?')

/** A message that something was spent on. */
export interface SpendingWork {
  readonly sequence: number
  readonly isJob: boolean
  readonly unit: number | null
}

/** Undefined when neither the message nor its job is kept any more. */
export function* workOf(view: View, sequence: number): Steps<SpendingWork | undefined> {
  const row = yield* view.one(sql.work, sequence, sequence)
  return row && { sequence, isJob: row.is_job === 1, unit: row.unit }
}

export function* addSpending(
  tx: Transaction,
  { sequence, isJob, unit }: SpendingWork,
  { budget, amount }: Spending,
): Steps<void> {
  if (amount === 0) return
  if (isJob) yield* tx.run(sql.addToJob, sequence, budget, amount)
  if (unit !== null) yield* tx.run(sql.addToFlows, unit, budget, amount)
}

export function* spentOnJob(view: View, number: number): Steps<Spent> {
  return byBudget(yield* view.all(sql.ofJob, number))
}

export function* spentOnFlow(view: View, flow: number): Steps<Spent> {
  return byBudget(yield* view.all(sql.ofFlow, flow))
}

const nothing: Spent = {}

function byBudget(rows: readonly Spending[]): Spent {
  if (rows.length === 0) return nothing
  return Object.fromEntries(rows.map(({ budget, amount }) => [budget, amount]))
}

/** Reads what another program has spent on a job, from its report. */
import type { Spending, Spent } from '../backends/budget-store.ts'
import { isRecord } from '../contracts/setting-checks.ts'
import { describeGiven } from '../core/checks.ts'
import { MillraceError } from '../core/millrace-error.ts'

export interface Report {
  /** The receipt of the receive, on SQS its ReceiptHandle. */
  readonly receipt: string
}

export interface SpendingReport extends Report {
  /** What was spent on the job since the last report, by budget: `{ llm: 1200 }`. */
  readonly spent?: Spent
}

/** The amounts in the form of the store, which checks them. */
export function spendingsOf({ spent }: SpendingReport): { readonly spent?: readonly Spending[] } {
  if (spent === undefined) return {}
  if (!isRecord(spent)) {
    const allowed = 'an object with the amount spent from each budget'
    throw MillraceError.invalid([{ field: 'spent', given: describeGiven(spent), allowed }])
  }
  return { spent: Object.entries(spent).map(([budget, amount]) => ({ budget, amount })) }
}

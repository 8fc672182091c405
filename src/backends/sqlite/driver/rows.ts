/**
 * Reads typed rows. The schema is ours and its tables are STRICT, so the shape of a row follows from
 * the statement; this is the only place that says so to the compiler.
 */
import type { SQLInputValue, StatementSync } from 'node:sqlite'

export function getRow<Row>(
  statement: StatementSync,
  ...values: readonly SQLInputValue[]
): Row | undefined {
  return statement.get(...values) as Row | undefined
}

export function allRows<Row>(
  statement: StatementSync,
  ...values: readonly SQLInputValue[]
): readonly Row[] {
  return statement.all(...values) as unknown as readonly Row[]
}

/** Whether the statement changed a row. */
export function changed(statement: StatementSync, ...values: readonly SQLInputValue[]): boolean {
  return Number(statement.run(...values).changes) > 0
}

/**
 * A row limit given at run time. With a bare `LIMIT ?` SQLite compiles the statement anew whenever a
 * value is bound, which costs more than the search itself.
 */
export const upTo = 'LIMIT CAST(? AS INTEGER)'

/**
 * Replaces the rows of one unit in a table of yours, inside the transaction that settles the unit. A unit
 * that runs twice leaves its rows once. Names are checked, values are bound.
 */
import { describeGiven, type Violations } from '../core/checks.ts'
import { MillraceError } from '../core/millrace-error.ts'

/** A value that a column can hold. */
export type SqlValue = null | number | bigint | string | Uint8Array

/** The part of a connection that is needed. A `DatabaseSync` of node:sqlite fits. */
export interface StoreConnection {
  exec(sql: string): void
  prepare(sql: string): {
    run(...values: SqlValue[]): { readonly changes: number | bigint }
    get(...values: SqlValue[]): Readonly<Record<string, unknown>> | undefined
    all(...values: SqlValue[]): readonly Readonly<Record<string, unknown>>[]
  }
}

export type SqlRow = Readonly<Record<string, SqlValue>>

export interface ReplaceRows {
  /** The name of the table. */
  readonly table: string
  /** Selects the unit's rows: all rows with these values. At least one column. */
  readonly where: SqlRow
  /** The new rows. They need not repeat the values of `where`. */
  readonly rows: readonly SqlRow[]
}

export interface ReplacedRows {
  readonly deleted: number
  readonly inserted: number
}

/** Deletes the rows of a unit and inserts the new ones. Use it inside `context.within`. */
export function replaceRows(
  db: Pick<StoreConnection, 'prepare'>,
  { table, where, rows }: ReplaceRows,
): ReplacedRows {
  refuse(table, where, rows)
  const full = rows.map((row) => ({ ...row, ...where }))
  const conditions = Object.keys(where).map((column) => `${quoted(column)} IS ?`)
  const { changes } = db
    .prepare(`DELETE FROM ${quoted(table)} WHERE ${conditions.join(' AND ')}`)
    .run(...Object.values(where))
  insert(db, table, full)
  return { deleted: Number(changes), inserted: full.length }
}

function insert(
  db: Pick<StoreConnection, 'prepare'>,
  table: string,
  rows: readonly SqlRow[],
): void {
  const [first] = rows
  if (first === undefined) return
  const columns = Object.keys(first)
  const places = columns.map(() => '?').join(', ')
  const statement = db.prepare(
    `INSERT INTO ${quoted(table)} (${columns.map(quoted).join(', ')}) VALUES (${places})`,
  )
  // All rows have the same columns, as checked above.
  for (const row of rows) statement.run(...columns.map((column) => row[column] ?? null))
}

const namePattern = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/
const nameAllowed = 'a name of at most 63 letters, digits and _ that does not start with a digit'

/** The name has passed the pattern, so it contains no quotes. */
function quoted(name: string): string {
  return `"${name}"`
}

function refuse(table: unknown, where: SqlRow, rows: readonly SqlRow[]): void {
  const violations: Violations = []
  checkName(violations, 'table', table)
  checkRow(violations, 'where', where)
  if (Object.keys(where).length === 0) {
    // Without a condition, all rows of the table would be deleted.
    violations.push({ field: 'where', given: 'no column', allowed: 'at least one column' })
  }
  const columns = columnsOf({ ...rows[0], ...where })
  for (const [index, row] of rows.entries()) {
    const field = `rows[${index}]`
    checkRow(violations, field, row)
    if (columnsOf({ ...row, ...where }) !== columns) {
      violations.push({ field, given: 'other columns', allowed: 'the columns of the first row' })
    }
    for (const column of Object.keys(where)) {
      if (!Object.hasOwn(row, column) || row[column] === where[column]) continue
      const allowed = 'the value of this column in where, or no value'
      violations.push({ field: `${field}.${column}`, given: 'another value', allowed })
    }
    if (violations.length > 0) break
  }
  if (violations.length > 0) throw MillraceError.invalid(violations)
}

function columnsOf(row: SqlRow): string {
  return Object.keys(row).toSorted().join()
}

function checkName(into: Violations, field: string, name: unknown): void {
  if (typeof name === 'string' && namePattern.test(name)) return
  into.push({ field, given: describeGiven(name), allowed: nameAllowed })
}

function checkRow(into: Violations, field: string, row: SqlRow): void {
  for (const [column, value] of Object.entries(row)) {
    checkName(into, `${field}: a column`, column)
    if (isSqlValue(value)) continue
    const allowed = 'a string, a finite number, a bigint, bytes or null'
    into.push({ field: `${field}.${column.slice(0, 63)}`, given: kindOf(value), allowed })
  }
}

function isSqlValue(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
    case 'bigint':
      return true
    case 'number':
      return Number.isFinite(value)
    default:
      return value === null || value instanceof Uint8Array
  }
}

/** The value is private, so only its type is reported. */
function kindOf(value: unknown): string {
  return value === undefined ? 'nothing' : `a value of type ${typeof value}`
}

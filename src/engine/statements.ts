/**
 * Statements as typed constants, beside the rules that run them, in the SQL that all databases understand.
 * A database prepares a statement when it first runs it, and keeps it. What only one of them needs stands
 * in a comment that begins with its name, as in `FROM message /*sqlite INDEXED BY message_ready *\/`.
 *
 * The schema is ours, so the shape of a row follows from the statement; this is the only place that tells
 * the compiler so.
 */

/** What a statement can be given. */
export type Value = string | number | null

export interface Statement {
  readonly sql: string
  /** Its place in the prepared statements of every connection. */
  readonly slot: number
  readonly asArrays: boolean
}

/** A statement that returns rows, also `INSERT`, `UPDATE` and `DELETE` with `RETURNING`. */
export interface Query<Row> extends Statement {
  /** Exists for the compiler only. */
  readonly row?: Row
}

const declared: Statement[] = []

/** All statements of the modules that are loaded. */
export const declaredStatements: readonly Statement[] = declared

function declare(sql: string, asArrays: boolean): Statement {
  const statement = { sql, slot: declared.length, asArrays }
  declared.push(statement)
  return statement
}

export function query<Row>(sql: string): Query<Row> {
  return declare(sql, false)
}

/** Its rows are arrays of values, which is faster to read than objects. */
export function arrayQuery<Values>(sql: string): Query<Values> {
  return declare(sql, true)
}

/** A statement that returns no rows. */
export function change(sql: string): Statement {
  return declare(sql, false)
}

/**
 * A row limit given at run time. With a bare `LIMIT ?` SQLite compiles the statement again whenever a
 * value is bound, which costs more than the search itself.
 */
export const upTo = 'LIMIT CAST(? AS BIGINT)'

/** The text of a statement for one database: what stands in comments for it counts. */
export function textFor(database: 'sqlite' | 'postgres', { sql }: Statement): string {
  return sql.replaceAll(hints, (_, name: string, text: string) => (name === database ? text : ''))
}

const hints = /\/\*(sqlite|postgres) (.*?) \*\//gs

/** The end of an `INSERT` that writes over the row with the same key. */
export function orReplace(key: string, columns: string): string {
  const assignments = columns.split(', ').map((column) => `${column} = excluded.${column}`)
  return `ON CONFLICT (${key}) DO UPDATE SET ${assignments.join(', ')}`
}

/** The larger and the smaller of several values; null if one of them is, on SQLite. */
export const greatest = '/*sqlite max *//*postgres greatest */'
export const least = '/*sqlite min *//*postgres least */'

/*
 * Postgres plans a statement once, perhaps while its tables are empty, when all plans cost the same. What
 * follows leaves it only those that stay fast when the tables are full: rows are found by their keys.
 */

/** The condition that a column has one of the numbers of a JSON array, which is given as one value. */
export function oneOf(column: string): string {
  const numbers = 'SELECT value::bigint FROM json_array_elements_text(?::json)'
  return `${column} /*sqlite IN (SELECT value FROM json_each(?)) *//*postgres = ANY (ARRAY(${numbers})) */`
}

/**
 * After a column, in a statement that finds its row by its key: on Postgres no index serves the column, so
 * that the key is used and not an index of all rows in some state.
 */
export const byKey = '/*postgres  + 0 */'

/**
 * At the end of a query: its rows are for this transaction alone, until it ends. A database with one writer
 * needs nothing for that. Rows that another transaction has are waited for, or left out.
 */
export const forUpdate = '/*postgres FOR UPDATE */'
export const skipLocked = '/*postgres FOR UPDATE SKIP LOCKED */'

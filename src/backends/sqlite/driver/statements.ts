/**
 * Statements as typed constants, beside the code that runs them. Each connection prepares a statement
 * when it first runs it, and keeps it.
 *
 * The schema is ours and its tables are STRICT, so the shape of a row follows from the statement; this
 * is the only place that tells the compiler so.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'

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
export const upTo = 'LIMIT CAST(? AS INTEGER)'

/** Runs statements on one connection. */
export class Statements {
  readonly db: DatabaseSync
  readonly #prepared: (StatementSync | undefined)[] = []

  constructor(db: DatabaseSync) {
    this.db = db
  }

  /** For loops in which the few nanoseconds of the methods below count. */
  prepared(statement: Statement): StatementSync {
    return this.#prepared[statement.slot] ?? this.#prepare(statement)
  }

  one<Row>(query: Query<Row>, ...values: readonly SQLInputValue[]): Row | undefined {
    return this.prepared(query).get(...values) as Row | undefined
  }

  all<Row>(query: Query<Row>, ...values: readonly SQLInputValue[]): readonly Row[] {
    return this.prepared(query).all(...values) as unknown as readonly Row[]
  }

  /** Reads row by row, for callers that may stop early. */
  each<Row>(query: Query<Row>, ...values: readonly SQLInputValue[]): Iterable<Row> {
    return this.prepared(query).iterate(...values) as Iterable<unknown> as Iterable<Row>
  }

  run(change: Statement, ...values: readonly SQLInputValue[]): void {
    this.prepared(change).run(...values)
  }

  /** Whether the statement changed a row. */
  changed(change: Statement, ...values: readonly SQLInputValue[]): boolean {
    return Number(this.prepared(change).run(...values).changes) > 0
  }

  /** How many rows the statement changed. */
  changes(change: Statement, ...values: readonly SQLInputValue[]): number {
    return Number(this.prepared(change).run(...values).changes)
  }

  #prepare(statement: Statement): StatementSync {
    const prepared = this.db.prepare(statement.sql)
    if (statement.asArrays) prepared.setReturnArrays(true)
    this.#prepared[statement.slot] = prepared
    return prepared
  }
}

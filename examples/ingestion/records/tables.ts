/**
 * The database of the tables, which is that of the queues: a SQLite file or Postgres. Both understand the
 * statements, in which `?` stands for a value.
 */
export type Value = string | number | null | Uint8Array

export interface Statement {
  readonly sql: string
  readonly values: readonly Value[]
}

export function statement(sql: string, ...values: readonly Value[]): Statement {
  return { sql, values }
}

/**
 * Statements that are stored together or not at all. `yield` runs one, and returns how many rows it changed. A
 * generator fits both databases: within a settlement, SQLite must not wait, and Postgres must.
 */
export type Writes<Result = void> = Generator<Statement, Result, number>

export interface Tables extends AsyncDisposable {
  /** `Row` is the type of the rows; it is not checked. */
  rows<Row>(sql: string, ...values: readonly Value[]): Promise<readonly Row[]>
  /** Writes in a transaction of its own. */
  write<Result>(writes: () => Writes<Result>): Promise<Result>
  /** For `context.within`: writes in the transaction that settles a job. It may have to be repeated. */
  within(writes: () => Writes): (connection: object) => unknown
}

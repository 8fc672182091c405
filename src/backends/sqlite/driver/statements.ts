/** Runs the statements of rules on one connection, which prepares each of them once. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Query, type Statement, textFor, type Value } from '../../../engine/statements.ts'

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

  one<Row>(query: Query<Row>, ...values: readonly Value[]): Row | undefined {
    return this.prepared(query).get(...values) as Row | undefined
  }

  all<Row>(query: Query<Row>, ...values: readonly Value[]): readonly Row[] {
    return this.prepared(query).all(...values) as unknown as readonly Row[]
  }

  run(change: Statement, ...values: readonly Value[]): void {
    this.prepared(change).run(...values)
  }

  /** How many rows the statement changed. */
  changes(change: Statement, ...values: readonly Value[]): number {
    return Number(this.prepared(change).run(...values).changes)
  }

  #prepare(statement: Statement): StatementSync {
    const prepared = this.db.prepare(textFor('sqlite', statement))
    if (statement.asArrays) prepared.setReturnArrays(true)
    this.#prepared[statement.slot] = prepared
    return prepared
  }
}

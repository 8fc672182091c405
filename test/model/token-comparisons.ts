/** The statements of the engine that compare a lease's token, and what takes such a comparison out. */
import { DatabaseSync } from 'node:sqlite'
import { declaredStatements, textFor } from '../../src/engine/statements.ts'
// Loads the modules that declare them.
import '../../src/backends/sqlite/index.ts'

const comparison = /\bAND token = \?/

const { prepare } = DatabaseSync.prototype

/** The texts of all statements of the engine that compare a token. */
export function statementsWithComparison(): readonly string[] {
  return declaredStatements
    .map((statement) => textFor('sqlite', statement))
    .filter((sql) => comparison.test(sql))
}

/** From now on the statement is prepared without its comparison. */
export function takeComparisonOut(sql: string): void {
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, text: string, ...rest) {
    // The parameter stays, so that the others keep their places.
    const mutated = text === sql ? text.replace(comparison, 'AND (? IS NOT NULL OR 1)') : text
    return prepare.call(this, mutated, ...rest)
  }
}

export function putComparisonsBack(): void {
  DatabaseSync.prototype.prepare = prepare
}

export function oneLine(sql: string): string {
  return sql.replaceAll(/\s+/g, ' ').trim()
}

/** The statements of the engine that compare a lease's token, and what takes such a comparison out. */
import { DatabaseSync } from 'node:sqlite'
import { openDatabase } from '../../src/backends/sqlite/driver/database.ts'
import { Statements } from '../../src/backends/sqlite/driver/statements.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const comparison = /\bAND token = \?/

const { prepare } = DatabaseSync.prototype

/** The texts of all statements that the engine prepares and that compare a token. */
export async function statementsWithComparison(): Promise<readonly string[]> {
  const texts = new Set<string>()
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, text: string, ...rest) {
    if (comparison.test(text)) texts.add(text)
    return prepare.call(this, text, ...rest)
  }
  const folder = await temporaryFolder('statements')
  const db = openDatabase(folder.file('store.db'))
  try {
    prepareAll(new Statements(db))
  } finally {
    putComparisonsBack()
    db.close()
    await folder.remove()
  }
  return [...texts]
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

/** Groups of statements are prepared when they are first asked for. */
function prepareAll(statements: Statements): void {
  const properties = Object.getOwnPropertyDescriptors(Statements.prototype)
  for (const { get } of Object.values(properties)) get?.call(statements)
}

export function oneLine(sql: string): string {
  return sql.replaceAll(/\s+/g, ' ').trim()
}

/**
 * Keeps a function that is lent the store's connection away from what is the store's own: tables,
 * settings, the transaction. SQLite asks about a statement when it compiles it and never when it runs
 * it, so the store's own statements, which are compiled once, cost what they cost without a guard.
 */

import { constants, type DatabaseSync } from 'node:sqlite'
import { migrations } from '../migrations/index.ts'
import { isUnauthorized } from './storage-fault.ts'

/** Every table of the store, under its present name. */
export const ownTables: ReadonlySet<string> = tablesOf(migrations.join('\n'))

function tablesOf(sql: string): ReadonlySet<string> {
  const tables = new Set<string>()
  for (const step of sql.matchAll(/\bCREATE TABLE (\w+)|\bALTER TABLE (\w+) RENAME TO (\w+)/g)) {
    const [, created = '', renamed, name = created] = step
    if (renamed !== undefined) tables.delete(renamed)
    tables.add(name)
  }
  return tables
}

export class LendingGuard {
  #isLent = false
  #refusal: string | undefined

  constructor(db: DatabaseSync) {
    // Node has authorizers since 24.10; an older one cannot check statements.
    if (typeof db.setAuthorizer !== 'function') return
    db.setAuthorizer((action, first, second, database) => {
      const refusal = this.#isLent ? refuse({ action, first, second, database }) : undefined
      if (refusal === undefined) return constants.SQLITE_OK
      this.#refusal = refusal
      return constants.SQLITE_DENY
    })
  }

  /** Refuses what may not be done, as long as the function runs. */
  during<T>(run: () => T): T {
    this.#isLent = true
    this.#refusal = undefined
    try {
      return run()
    } finally {
      this.#isLent = false
    }
  }

  /** What an error is about, in a sentence, when it is the guard's. */
  explain(error: unknown): string | undefined {
    return isUnauthorized(error) ? this.#refusal : undefined
  }
}

/** What SQLite is about to compile, as it tells an authorizer. */
interface Action {
  readonly action: number
  readonly first: string | null
  readonly second: string | null
  readonly database: string | null
}

function refuse({ action, first, second, database }: Action): string | undefined {
  if (action === constants.SQLITE_TRANSACTION) return endsTransaction
  if (action === constants.SQLITE_PRAGMA) {
    const isSetting = second !== null && !harmlessPragmas.has(String(first).toLowerCase())
    return isSetting ? 'It would change a setting of the connection, which is lent.' : undefined
  }
  const table = tableFirst.has(action) ? first : tableSecond.has(action) ? second : null
  if (table === null || !ownTables.has(table)) return undefined
  // A table for the time being may have any name, but a trigger for the time being is on our table.
  if (database === 'temp' && action !== constants.SQLITE_CREATE_TEMP_TRIGGER) return undefined
  return `It would change the table '${table}', which is Millrace's own.`
}

export const endsTransaction = 'It would end the transaction, which is not its own.'

/** Actions that name their table first, and those that name something else before it. */
const tableFirst: ReadonlySet<number> = new Set([
  constants.SQLITE_INSERT,
  constants.SQLITE_UPDATE,
  constants.SQLITE_DELETE,
  constants.SQLITE_DROP_TABLE,
])
const tableSecond: ReadonlySet<number> = new Set([
  constants.SQLITE_ALTER_TABLE,
  constants.SQLITE_CREATE_INDEX,
  constants.SQLITE_DROP_INDEX,
  constants.SQLITE_CREATE_TRIGGER,
  constants.SQLITE_CREATE_TEMP_TRIGGER,
  constants.SQLITE_DROP_TRIGGER,
])

/** Those that only look, and the one that ends with the transaction. */
const harmlessPragmas: ReadonlySet<string> = new Set([
  'table_info',
  'table_xinfo',
  'table_list',
  'index_list',
  'index_info',
  'index_xinfo',
  'foreign_key_list',
  'foreign_key_check',
  'integrity_check',
  'quick_check',
  'defer_foreign_keys',
])

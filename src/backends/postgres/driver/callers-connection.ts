/**
 * The caller's connection, in its transaction. Our part of it begins with a savepoint: what fails is undone,
 * and the caller can still use the transaction.
 *
 * Libraries differ in the types of the values that they return, and may rename columns. So each statement
 * returns its rows as one JSON text.
 */
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Statement, Value } from '../../../engine/statements.ts'
import { type CallersQueries, refusedTransaction } from './callers-queries.ts'
import type { TransactionConnection } from './connections.ts'
import { codeOf, storageError } from './faults.ts'
import type { StatementTexts } from './statement-texts.ts'

const savepoint = 'millrace'

export class CallersConnection implements TransactionConnection {
  readonly #queries: CallersQueries
  readonly #texts: StatementTexts
  #latest: Promise<unknown> = Promise.resolve()
  #isBegun = false

  constructor(queries: CallersQueries, texts: StatementTexts) {
    this.#queries = queries
    this.#texts = texts
  }

  async begin(): Promise<void> {
    if (this.#isBegun) return
    this.#isBegun = true
    // There is no savepoint outside of a transaction.
    await this.#inTurn(() => this.#queries.run(`SAVEPOINT ${savepoint}`)).catch(
      (error: unknown) => {
        this.#isBegun = false
        throw withoutTransaction(error)
      },
    )
  }

  async commit(): Promise<string> {
    await this.#inTurn(() => this.#queries.run(`RELEASE SAVEPOINT ${savepoint}`))
    this.#isBegun = false
    return 'COMMIT'
  }

  async rollback(): Promise<void> {
    if (!this.#isBegun) return
    await this.#inTurn(() => this.#queries.run(`ROLLBACK TO SAVEPOINT ${savepoint}`))
    await this.commit()
  }

  lend(): Promise<void> {
    return Promise.reject(new MillraceError('unsupported'))
  }

  async prepared<Row>(statement: Statement, values: readonly Value[]): Promise<readonly Row[]> {
    const rows = `coalesce(json_agg(${answer}), '[]')`
    const found = await this.#json(this.#texts.of(statement), rows, values)
    return (found as readonly Row[]).map(withNumbers)
  }

  rows<Row>(statement: Statement, values: readonly Value[]): Promise<readonly Row[]> {
    return this.prepared(statement, values)
  }

  async changes(statement: Statement, values: readonly Value[]): Promise<number> {
    const text = `${this.#texts.of(statement)} RETURNING 1`
    return Number(await this.#json(text, 'count(*)', values))
  }

  async #json(text: string, result: string, values: readonly Value[]): Promise<unknown> {
    const sql = `WITH ${answer} AS (${text}) SELECT CAST(${result} AS TEXT) AS ${answer} FROM ${answer}`
    const [row] = await this.#inTurn(() => this.#queries.query(sql, values))
    return JSON.parse(String(Object.values(row ?? {})[0]))
  }

  #inTurn<T>(send: () => Promise<T>): Promise<T> {
    const sent = this.#latest.then(send, send)
    this.#latest = sent
    return sent
  }
}

const answer = 'millrace_answer'

/** Booleans as the 0 and 1 that SQLite has. */
function withNumbers<Row>(row: Row): Row {
  const values = Object.entries(row as object).map(([name, value]) => [
    name,
    typeof value === 'boolean' ? Number(value) : value,
  ])
  return Object.fromEntries(values) as Row
}

function withoutTransaction(error: unknown): Error {
  const code = codeOf(error)
  if (code === '25P01') {
    return refusedTransaction('a connection without a transaction', 'one in a transaction')
  }
  if (code === '25P02') {
    return refusedTransaction('a transaction that has failed', 'another one, after its rollback')
  }
  // The library itself refuses to use it.
  if (code === '') return refusedTransaction('a transaction that has ended', 'an open one')
  return storageError(error)
}

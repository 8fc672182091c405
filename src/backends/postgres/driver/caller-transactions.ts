/**
 * Work inside transactions that callers have begun on connections of their own. All of it is written when
 * the promise resolves, so that the caller's COMMIT keeps it and its ROLLBACK undoes it.
 */
import { MillraceError } from '../../../core/millrace-error.ts'
import { query } from '../../../engine/statements.ts'
import type { Step } from '../../../engine/steps.ts'
import type { Transaction } from '../../../engine/transaction.ts'
import { CallersConnection } from './callers-connection.ts'
import { callersQueries, refusedTransaction } from './callers-queries.ts'
import { CallersTransaction } from './callers-transaction.ts'
import type { Connection, StatementRunner } from './connections.ts'
import { drive } from './drive.ts'
import { codeOf, isConflict, storageError } from './faults.ts'
import { isLent } from './lent-client.ts'
import type { StatementTexts } from './statement-texts.ts'
import type { StoreHead } from './store-head.ts'
import type { StoreFacts } from './view.ts'

/** How often a rule runs when others have changed what it has read. */
const triesMax = 5

interface Place {
  readonly started: string
  readonly number: string
  readonly name: string
}

/** No two servers have started in the same microsecond. */
const readPlace = query<Place>(`
  SELECT CAST(extract(epoch FROM pg_postmaster_start_time()) AS TEXT) AS started,
    CAST(oid AS TEXT) AS number, CAST(datname AS TEXT) AS name
  FROM pg_database WHERE datname = current_database()`)

export interface CallerTransactionsOptions {
  readonly texts: StatementTexts
  readonly facts: StoreFacts
  readonly head: StoreHead
  /** The channel of notifications to other processes. */
  readonly channel: string
  /** Runs a function on a connection of the store. */
  readonly connected: <T>(run: (connection: Connection) => Promise<T>) => Promise<T>
}

type Rule<T> = (tx: Transaction) => Step<T>

export class CallerTransactions {
  readonly #options: CallerTransactionsOptions
  /** Calls in one transaction run one after the other: each has a savepoint. */
  readonly #latest = new WeakMap<object, Promise<unknown>>()
  #place: Place | undefined

  constructor(options: CallerTransactionsOptions) {
    this.#options = options
  }

  /** Runs all of it, or leaves the caller's transaction as it was. */
  run<T>(transaction: object, rule: Rule<T>): Promise<T> {
    const run = (): Promise<T> => this.#run(transaction, rule)
    const latest = this.#latest.get(transaction) ?? Promise.resolve()
    const result = latest.then(run, run)
    this.#latest.set(transaction, result)
    return result
  }

  async #run<T>(transaction: object, rule: Rule<T>): Promise<T> {
    if (isLent(transaction)) {
      const allowed = 'one of your own; a handler enqueues by its context'
      throw refusedTransaction('the client of a settlement', allowed)
    }
    const connection = new CallersConnection(callersQueries(transaction), this.#options.texts)
    for (let tries = 1; ; tries += 1) {
      try {
        const done = await this.#try(connection, rule, tries > 1)
        if (done !== undefined) return done.result
        if (tries === triesMax) throw outdated()
      } catch (error) {
        if (!isConflict(error)) throw this.#explained(error)
        if (tries === triesMax) throw outdated(error)
      }
    }
  }

  /** Undefined if the queues have changed meanwhile. */
  async #try<T>(
    connection: CallersConnection,
    rule: Rule<T>,
    countsApart: boolean,
  ): Promise<{ readonly result: T } | undefined> {
    const { facts, head, channel, connected } = this.#options
    await connection.begin()
    let tx: CallersTransaction | undefined
    try {
      await this.#requireSameDatabase(connection)
      const moment = head.known() ?? (await connected((own) => head.read(own)))
      tx = new CallersTransaction({ connection, facts, moment, channel, countsApart })
      const result = await drive(rule(tx))
      if (await tx.commit()) return { result }
      head.outdated()
    } catch (error) {
      // What cannot be undone is undone by the end of the transaction.
      await connection.rollback().catch(() => undefined)
      throw tx?.failure ?? error
    }
    await connection.rollback()
    return undefined
  }

  async #requireSameDatabase(connection: CallersConnection): Promise<void> {
    const given = await placeOf(connection)
    if (isSame(given, this.#place)) return
    // The server of the store may have started again.
    this.#place = await this.#options.connected(placeOf)
    if (isSame(given, this.#place)) return
    throw refusedTransaction(
      `a connection to the database ${given?.name ?? ''}`,
      `one to the database of this store, ${this.#place?.name ?? ''}, on the same server`,
    )
  }

  #explained(error: unknown): Error {
    if (codeOf(error) !== '42501') return storageError(error)
    const { schema } = this.#options.facts
    const allowed = 'one with the rights of the user that the store is opened with'
    return refusedTransaction(`a user without rights to the schema ${schema}`, allowed)
  }
}

async function placeOf(connection: StatementRunner): Promise<Place | undefined> {
  return (await connection.rows<Place>(readPlace, []))[0]
}

function isSame(given: Place | undefined, own: Place | undefined): boolean {
  return given !== undefined && given.started === own?.started && given.number === own.number
}

function outdated(cause?: unknown): MillraceError {
  const message =
    'Other transactions have changed the store since this one began. Roll it back and begin again.'
  return new MillraceError('store_busy', { message, cause })
}

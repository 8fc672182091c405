/** Lends the connection of a transaction to a function of the caller, for writes of its own. */
import { MillraceError } from '../../../core/millrace-error.ts'
import { isRepeatable } from './faults.ts'

/** A query in the form of the package `pg`. */
export interface LentQuery {
  readonly text: string
  readonly values?: readonly unknown[] | undefined
  readonly rowMode?: 'array' | undefined
  readonly types?: object | undefined
}

export interface LentResult<Row> {
  readonly rows: Row[]
  readonly rowCount: number | null
}

/** What a function within a settlement is called with. It can be used until the function has ended. */
export interface LentClient {
  /** As that of the package `pg`: `query('INSERT INTO chunk VALUES ($1)', [text])`. */
  query<Row extends object = Record<string, unknown>>(
    query: string | LentQuery,
    values?: readonly unknown[],
  ): Promise<LentResult<Row>>
}

/** The part of a connection that lending needs. */
export interface LendingConnection {
  send(query: LentQuery): Promise<LentResult<object>>
  /** Lets statements be planned for the engine, or as usual, until the transaction ends. */
  planForEngine(isForEngine: boolean): Promise<void>
  readonly isInTransaction: boolean
  /** Does not go back to the pool: its state is not known. */
  markBroken(): void
}

/** Those that are or were lent. */
const lent = new WeakSet<object>()

/** Whether it belongs to a settlement. */
export function isLent(client: object): boolean {
  return lent.has(client)
}

/**
 * Rejects with `within_failed` if the function or one of its statements fails. If another transaction was in
 * the way, or the server was lost, it rejects with that error: then the whole transaction runs again.
 */
export async function runOnLentClient(
  connection: LendingConnection,
  within: (client: object) => unknown,
): Promise<void> {
  const lending = new Lending(connection)
  await connection.planForEngine(false)
  const thrown = await errorOf(within, lending.client)
  await lending.end()
  if (isRepeatable(lending.failure)) throw lending.failure
  if (lending.refusal !== undefined) throw lending.refusal
  if (thrown !== undefined) throw new MillraceError('within_failed', { cause: thrown.error })
  await connection.planForEngine(true).catch((error: unknown) => {
    // It has gone on after a statement that failed.
    const cause = lending.failure
    throw cause === undefined ? error : new MillraceError('within_failed', { cause })
  })
  if (connection.isInTransaction) return
  connection.markBroken()
  throw withinFailed(endsTransaction)
}

async function errorOf(
  within: (client: object) => unknown,
  client: LentClient,
): Promise<{ readonly error: unknown } | undefined> {
  try {
    await within(client)
    return undefined
  } catch (error) {
    return { error }
  }
}

class Lending {
  readonly client: LentClient
  refusal: MillraceError | undefined
  /** The first one of a statement. */
  failure: unknown
  readonly #connection: LendingConnection
  readonly #sent: Promise<unknown>[] = []
  #isOver = false

  constructor(connection: LendingConnection) {
    this.#connection = connection
    const query = (given: string | LentQuery, values?: readonly unknown[]): Promise<unknown> => {
      const result = this.#query(
        typeof given === 'string'
          ? { text: given, values }
          : { ...given, values: values ?? given.values },
      )
      // A function may leave it alone: the failure is known here.
      result.catch(() => undefined)
      return result
    }
    this.client = Object.freeze({ query: query as LentClient['query'] })
    lent.add(this.client)
  }

  /** Takes no more statements, and waits for those that were sent. */
  async end(): Promise<void> {
    this.#isOver = true
    await Promise.allSettled(this.#sent)
  }

  async #query({ text, values = [], rowMode, types }: LentQuery): Promise<unknown> {
    if (this.#isOver) throw withinFailed('The settlement is over, and its client with it.')
    const reason = refuse(text)
    if (reason !== undefined) {
      this.refusal = withinFailed(reason)
      throw this.refusal
    }
    // In this mode a text is one statement.
    const query = { text, values: [...values], rowMode, types, queryMode: 'extended' }
    const sent = this.#connection.send(query)
    this.#sent.push(sent)
    return sent.catch((error: unknown) => {
      this.failure ??= error
      throw error
    })
  }
}

const endsTransaction = 'It would end the transaction, which is not its own.'

function refuse(text: unknown): string | undefined {
  if (typeof text !== 'string') return 'It ran something that is not a text with values.'
  const statement = text.replace(leading, '')
  if (ending.test(statement)) return endsTransaction
  if (statement.startsWith('/*')) return 'It ran a text that begins with a nested comment.'
  return lasting.test(statement) ? 'It would change the connection, which is lent.' : undefined
}

/** White space, empty statements, and comments without others in them. */
const leading = /^(?:[\s;]|--[^\n]*(?:\n|$)|\/\*(?:(?!\/\*)[\s\S])*?\*\/)*/
const ending =
  /^(?:BEGIN|START|COMMIT|END|ABORT|PREPARE\s+TRANSACTION|ROLLBACK(?!\s+(?:(?:WORK|TRANSACTION)\s+)?TO\b))\b/i
/** What would be left behind on a connection that goes back to the pool. */
const lasting = /^(?:SET(?!\s+(?:LOCAL|CONSTRAINTS)\b)|RESET|DEALLOCATE|DISCARD|LISTEN|UNLISTEN)\b/i

function withinFailed(message: string): MillraceError {
  return new MillraceError('within_failed', { message })
}

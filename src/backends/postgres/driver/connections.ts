/** Connections to one database, and how statements run on them. */
import type { Pool, PoolClient, QueryArrayResult, QueryResult } from 'pg'
import pg from 'pg'
import type { Statement, Value } from '../../../engine/statements.ts'
import type { StatementTexts } from './statement-texts.ts'

/** Numbers as numbers, and booleans as the 0 and 1 that SQLite has. */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary'): unknown {
    if (oid === int8 || oid === numeric) return Number
    if (oid === bool) return (text: string) => (text === 't' ? 1 : 0)
    return pg.types.getTypeParser(oid, format)
  },
} as pg.CustomTypesConfig

const bool = 16
const int8 = 20
const numeric = 1700

export class Connection {
  readonly #client: PoolClient
  readonly #texts: StatementTexts
  #isBroken = false

  constructor(client: PoolClient, texts: StatementTexts) {
    this.#client = client
    this.#texts = texts
  }

  async rows<Row>(statement: Statement, values: readonly Value[]): Promise<readonly Row[]> {
    const result = await this.#run(statement, values)
    return result.rows as unknown as readonly Row[]
  }

  async changes(statement: Statement, values: readonly Value[]): Promise<number> {
    const result = await this.#run(statement, values)
    return result.rowCount ?? 0
  }

  #run(
    statement: Statement,
    values: readonly Value[],
  ): Promise<QueryResult<object> | QueryArrayResult> {
    const text = this.#texts.of(statement)
    const query = { text, values: [...values], types }
    return statement.asArrays
      ? this.#client.query({ ...query, rowMode: 'array' as const })
      : this.#client.query(query)
  }

  /** Runs text that is not a statement of the engine. */
  query<Row extends object = object>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<QueryResult<Row>> {
    return this.#client.query<Row>({ text, values: [...values], types })
  }

  /** The id of the open transaction, to ask for its end if the answer to its commit is lost. */
  async transactionId(): Promise<string> {
    const { rows } = await this.query<{ id: string }>('SELECT pg_current_xact_id()::text AS id')
    return rows[0]?.id ?? ''
  }

  /** Does not go back to the pool: its state is not known. */
  markBroken(): void {
    this.#isBroken = true
  }

  release(): void {
    this.#client.release(this.#isBroken)
  }
}

/** Connections whose loss is listened for. Several stores may share a pool. */
const heard = new WeakSet<PoolClient>()

export class Connections {
  readonly #pool: Pool
  readonly #texts: StatementTexts
  readonly #isOwn: boolean

  constructor(pool: Pool, texts: StatementTexts, options: { readonly isOwn: boolean }) {
    this.#pool = pool
    this.#texts = texts
    this.#isOwn = options.isOwn
    // An idle connection that breaks is replaced by the next one that is needed.
    if (this.#isOwn) pool.on('error', () => undefined)
  }

  async connect(): Promise<Connection> {
    const client = await this.#pool.connect()
    if (!heard.has(client)) {
      heard.add(client)
      // The statement that fails reports it; without a listener the process would end.
      client.on('error', () => undefined)
    }
    return new Connection(client, this.#texts)
  }

  /** Runs one text on any connection. */
  async query(text: string, values: readonly unknown[]): Promise<void> {
    await this.#pool.query({ text, values: [...values] })
  }

  /** `committed`, `aborted` or `in progress`. */
  async transactionStatus(id: string): Promise<string | undefined> {
    const text = 'SELECT pg_xact_status(CAST($1 AS xid8)) AS status'
    const { rows } = await this.#pool.query<{ status: string | null }>(text, [id])
    return rows[0]?.status ?? undefined
  }

  async close(): Promise<void> {
    if (this.#isOwn) await this.#pool.end()
  }
}

/**
 * Connections to one database, and how statements run on them. Statements are sent without waiting for the
 * answers to those before, where the pool allows that (`pipeline`).
 */
import type { Pool, PoolClient, QueryArrayResult, QueryResult } from 'pg'
import pg from 'pg'
import type { Statement, Value } from '../../../engine/statements.ts'
import {
  type LendingConnection,
  type LentQuery,
  type LentResult,
  runOnLentClient,
} from './lent-client.ts'
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

/**
 * Plans are made once, when a table may be empty, and must be good when it is full. So rows are found by
 * indexes, in their order, and never by reading a whole table.
 */
const planning: Readonly<Record<string, string>> = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_sort: 'off',
  jit: 'off',
}

const enginePlans = Object.entries(planning)
  .map(([name, value]) => `SET LOCAL ${name} = ${value}`)
  .join(';')
/** As the caller's statements are planned on a connection of its own. */
const ordinaryPlans = Object.keys(planning)
  .map((name) => `SET LOCAL ${name} = DEFAULT`)
  .join(';')
export const begin: string = `BEGIN;${enginePlans}`

/** Connections that are kept free of reads: one for each kind of write. */
const writersMax = 4

/** What statements of the engine run on. */
export interface StatementRunner {
  /** Runs a statement that is prepared, once for each connection. */
  prepared<Row>(statement: Statement, values: readonly Value[]): Promise<readonly Row[]>
  /** How many rows a statement changed. */
  changes(statement: Statement, values: readonly Value[]): Promise<number>
  /** Runs a statement that is planned for its values. */
  rows<Row>(statement: Statement, values: readonly Value[]): Promise<readonly Row[]>
}

/** What a transaction runs on. */
export interface TransactionConnection extends StatementRunner {
  begin(): Promise<void>
  /** The command that has ended the transaction: `ROLLBACK` if a statement of it had failed. */
  commit(): Promise<string>
  rollback(): Promise<void>
  /** Runs a function of the caller on this connection, in the open transaction. */
  lend(within: (client: object) => unknown): Promise<void>
}

export class Connection implements TransactionConnection, LendingConnection {
  readonly #client: PoolClient
  readonly #texts: StatementTexts
  #isBroken = false
  #isReleased = false
  /** The latest statement, where each is sent after the answer to the one before. */
  #latest: Promise<unknown> | undefined

  constructor(client: PoolClient, texts: StatementTexts) {
    this.#client = client
    this.#texts = texts
  }

  /** False if a pooler is in between: it gives a connection to others after each transaction. */
  async isDirect(): Promise<boolean> {
    const { rows } = await this.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const { processID } = this.#client as PoolClient & { readonly processID?: number }
    return rows[0]?.pid === processID
  }

  async begin(): Promise<void> {
    await this.#inTurn(() => this.#client.query(begin))
  }

  async commit(): Promise<string> {
    const { command } = await this.#inTurn(() => this.#client.query('COMMIT'))
    return command
  }

  /** Runs statements that only read, and all see the store as the first of them does. */
  async atOneMoment<T>(read: () => Promise<T>): Promise<T> {
    try {
      // Nothing waits for the answer, where statements are sent without waiting.
      const begun = this.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY')
      const [result] = await Promise.all([read(), begun])
      return result
    } finally {
      await this.rollback()
    }
  }

  async rollback(): Promise<void> {
    await this.query('ROLLBACK').catch(() => this.markBroken())
  }

  lend(within: (client: object) => unknown): Promise<void> {
    return runOnLentClient(this, within)
  }

  async send(query: LentQuery): Promise<LentResult<object>> {
    return this.#inTurn(() => this.#client.query(query as pg.QueryConfig))
  }

  async planForEngine(isForEngine: boolean): Promise<void> {
    await this.#inTurn(() => this.#client.query(isForEngine ? enginePlans : ordinaryPlans))
  }

  get isInTransaction(): boolean {
    return this.#client.getTransactionStatus() !== 'I'
  }

  async prepared<Row>(statement: Statement, values: readonly Value[]): Promise<readonly Row[]> {
    const result = await this.#run(statement, values, this.#texts.nameOf(statement))
    return result.rows as unknown as readonly Row[]
  }

  async changes(statement: Statement, values: readonly Value[]): Promise<number> {
    const result = await this.#run(statement, values, this.#texts.nameOf(statement))
    return result.rowCount ?? 0
  }

  async rows<Row>(statement: Statement, values: readonly Value[]): Promise<readonly Row[]> {
    const result = await this.#run(statement, values, undefined)
    return result.rows as unknown as readonly Row[]
  }

  #run(
    statement: Statement,
    values: readonly Value[],
    name: string | undefined,
  ): Promise<QueryResult<object> | QueryArrayResult> {
    const text = this.#texts.of(statement)
    const query = { text, values: values as Value[], types, ...(name !== undefined && { name }) }
    return this.#inTurn<QueryResult<object> | QueryArrayResult>(() =>
      statement.asArrays
        ? this.#client.query({ ...query, rowMode: 'array' as const })
        : this.#client.query(query),
    )
  }

  #inTurn<T>(send: () => Promise<T>): Promise<T> {
    if ((this.#client as PoolClient & { readonly pipeline?: boolean }).pipeline) return send()
    const sent = (this.#latest ?? Promise.resolve()).then(send, send)
    this.#latest = sent
    return sent
  }

  /** Runs text that is not a statement of the engine. */
  query<Row extends object = object>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<QueryResult<Row>> {
    return this.#inTurn(() => this.#client.query<Row>({ text, values: [...values], types }))
  }

  /** Does not go back to the pool: its state is not known. */
  markBroken(): void {
    this.#isBroken = true
  }

  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#client.release(this.#isBroken)
  }
}

/** Connections whose loss is listened for. Several stores may share a pool. */
const heard = new WeakSet<PoolClient>()

export class Connections {
  readonly #pool: Pool
  readonly #texts: StatementTexts
  readonly #isOwn: boolean
  #reads = 0
  readonly #waitingReads: (() => void)[] = []

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

  /** Runs a read on a connection of the pool, and leaves some of them to what writes. */
  async toRead<T>(read: () => Promise<T>): Promise<T> {
    const readsMax = Math.max(1, (this.#pool.options?.max ?? 10) - writersMax)
    if (this.#reads >= readsMax) {
      await new Promise<void>((resolve) => this.#waitingReads.push(resolve))
    } else {
      this.#reads += 1
    }
    try {
      return await read()
    } finally {
      const next = this.#waitingReads.shift()
      if (next === undefined) this.#reads -= 1
      else next()
    }
  }

  /** Runs one text on any connection. */
  async query(text: string, values: readonly unknown[] = []): Promise<void> {
    const connection = await this.connect()
    try {
      await connection.query(text, values)
    } finally {
      connection.release()
    }
  }

  async close(): Promise<void> {
    if (this.#isOwn) await this.#pool.end()
  }
}

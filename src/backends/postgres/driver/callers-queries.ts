/**
 * How statements run in a transaction that the caller has begun with a library of its choice. Each is
 * recognised by the methods that its documentation names for raw SQL.
 */
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Value } from '../../../engine/statements.ts'

export interface CallersQueries {
  /** Runs a text with parameters `$1`, `$2` and so on, each of them once and in this order. */
  query(
    text: string,
    values: readonly Value[],
  ): Promise<readonly Readonly<Record<string, unknown>>[]>
  /** Runs a text that returns nothing. */
  run(text: string): Promise<unknown>
}

type Call = (...given: readonly unknown[]) => Promise<unknown>
type Send = (text: string, values: readonly Value[]) => Promise<unknown>

/** Throws `invalid_argument` if it is a transaction of none of them. */
export function callersQueries(transaction: object): CallersQueries {
  const call = (name: string, on: object = transaction): Call | undefined => {
    const method: unknown = Reflect.get(on, name)
    return typeof method === 'function' ? method.bind(on) : undefined
  }
  const queryRaw = call('$queryRawUnsafe')
  const executeRaw = call('$executeRawUnsafe')
  if (queryRaw && executeRaw) {
    // Prisma
    return {
      query: async (text, values) => rowsOf(await queryRaw(text, ...values)),
      run: (text) => executeRaw(text),
    }
  }
  const send =
    postgresJs(call('unsafe')) ??
    knex(call('raw')) ??
    kysely(call('executeQuery') && call('withoutPlugins')) ??
    drizzle(call('execute')) ??
    // A client of pg; an entity manager or query runner of TypeORM.
    call('query')
  if (send === undefined) throw unknownTransaction()
  return {
    query: async (text, values) => rowsOf(await send(text, values)),
    run: (text) => send(text, []),
  }
}

function postgresJs(unsafe: Call | undefined): Send | undefined {
  return unsafe && ((text, values) => unsafe(text, [...values]))
}

function knex(raw: Call | undefined): Send | undefined {
  return raw && ((text, values) => raw(text.replaceAll(/\$\d+/g, '?'), [...values]))
}

/** Plugins would rename columns. A compiled query is what `CompiledQuery.raw` makes. */
function kysely(
  withoutPlugins: ((...given: readonly unknown[]) => unknown) | undefined,
): Send | undefined {
  if (withoutPlugins === undefined) return undefined
  const plain = withoutPlugins() as { executeQuery(query: object): Promise<unknown> }
  return (sql, parameters) => {
    const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] }
    return plain.executeQuery({ sql, parameters, query, queryId: { queryId: 'millrace' } })
  }
}

/** What `execute` takes is turned to a text with parameters by `toQuery`. */
function drizzle(execute: Call | undefined): Send | undefined {
  return (
    execute &&
    (async (sql, values) => {
      const query = { getSQL: () => query, toQuery: () => ({ sql, params: [...values] }) }
      return execute(query)
    })
  )
}

/** Some libraries return the rows, others a result that has them. */
function rowsOf(result: unknown): readonly Readonly<Record<string, unknown>>[] {
  const rows: unknown = Array.isArray(result) ? result : Object(result).rows
  if (!Array.isArray(rows)) throw unknownTransaction()
  return rows
}

function unknownTransaction(): MillraceError {
  return refusedTransaction(
    'another value',
    'a transaction of pg, postgres.js, Drizzle, Kysely, Knex, TypeORM or Prisma',
  )
}

export function refusedTransaction(given: string, allowed: string): MillraceError {
  return MillraceError.invalid([{ field: 'transaction', given, allowed }])
}

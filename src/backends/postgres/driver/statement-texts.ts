/**
 * The texts of the engine's statements for Postgres: numbered parameters, and the schema before the name of
 * each table, and for `@schema`. The schema is in the text because a pooler that shares connections keeps no search path.
 */
import { type Statement, textFor } from '../../../engine/statements.ts'

const tablePlaces = /\b(FROM|JOIN|INTO|UPDATE)(\s+)([a-z_]+)\b/g

/** Several stores may share the connections of a pool, so their statements have different names. */
let stores = 0

export class StatementTexts {
  readonly #schema: string
  readonly #tables: ReadonlySet<string>
  readonly #texts: (string | undefined)[] = []
  readonly #names: string[] = []
  readonly #prefix: string
  /** Whether a statement that is prepared can be found again; a pooler may change the connection. */
  prepares = true

  /** @param schema quoted for SQL */
  constructor(schema: string, tables: Iterable<string>) {
    this.#schema = schema
    this.#tables = new Set(tables)
    stores += 1
    this.#prefix = `millrace_${stores}_`
  }

  /** Under which a statement is prepared. */
  nameOf({ slot }: Statement): string | undefined {
    if (!this.prepares) return undefined
    this.#names[slot] ??= `${this.#prefix}${slot}`
    return this.#names[slot]
  }

  of(statement: Statement): string {
    const known = this.#texts[statement.slot]
    if (known !== undefined) return known
    const text = this.translate(textFor('postgres', statement))
    this.#texts[statement.slot] = text
    return text
  }

  translate(sql: string): string {
    let parameters = 0
    return sql
      .replaceAll('@schema', this.#schema)
      .replaceAll(tablePlaces, (found, word: string, space: string, name: string) =>
        this.#tables.has(name) ? `${word}${space}${this.#schema}.${name}` : found,
      )
      .replaceAll('?', () => {
        parameters += 1
        return `$${parameters}`
      })
  }
}

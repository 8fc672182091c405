/**
 * The texts of the engine's statements for Postgres: numbered parameters, and the schema before the name of
 * each table, and for `@schema`. The schema is in the text because a pooler that shares connections keeps no search path.
 */
import { type Statement, textFor } from '../../../engine/statements.ts'

const tablePlaces = /\b(FROM|JOIN|INTO|UPDATE)(\s+)([a-z_]+)\b/g

export class StatementTexts {
  readonly #schema: string
  readonly #tables: ReadonlySet<string>
  readonly #texts: (string | undefined)[] = []

  /** @param schema quoted, as it stands in SQL */
  constructor(schema: string, tables: Iterable<string>) {
    this.#schema = schema
    this.#tables = new Set(tables)
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

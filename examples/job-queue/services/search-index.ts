/**
 * Full-text search over documents. An entry is always written from the current document, in one transaction,
 * so indexing jobs can run in any order.
 */
import type { Database } from '../../shared/database.ts'

export interface Found {
  readonly entityId: string
  readonly title: string
}

/** `removed`: the document was deleted. */
export type Indexed = 'title' | 'title and text' | 'removed'

interface Row {
  readonly owner: string
  readonly title: string
  readonly text: string | null
}

export class SearchIndex {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  indexDocument(id: string): Indexed {
    const database = this.#database
    return database.transaction(() => {
      const sql = 'SELECT owner, title, text FROM document WHERE id = ?'
      const document = database.get<Row>(sql, id)
      const rowid = this.#rowOf(id)
      if (document === undefined) {
        database.run('DELETE FROM search_entry WHERE rowid = ?', rowid)
        database.run('DELETE FROM search_row WHERE id = ?', rowid)
        return 'removed'
      }
      const { owner, title, text } = document
      const write =
        'INSERT OR REPLACE INTO search_entry (rowid, entity_id, owner, title, body) VALUES (?, ?, ?, ?, ?)'
      database.run(write, rowid, id, owner, title, text ?? '')
      return text === null ? 'title' : 'title and text'
    })
  }

  /** The row number of an entry. Changing a full-text row by any other column would scan the table. */
  #rowOf(entityId: string): number {
    this.#database.run('INSERT OR IGNORE INTO search_row (entity_id) VALUES (?)', entityId)
    const sql = 'SELECT id FROM search_row WHERE entity_id = ?'
    return this.#database.get<{ id: number }>(sql, entityId)?.id ?? 0
  }

  /** The owner's documents that contain every word, best match first. */
  search({ owner, words }: { readonly owner: string; readonly words: string }): readonly Found[] {
    // Quote each word, so that none is read as an operator.
    const query = words
      .split(/\s+/)
      .filter((word) => word !== '')
      .map((word) => `"${word.replaceAll('"', '""')}"`)
      .join(' ')
    if (query === '') return []
    const sql = `SELECT entity_id AS entityId, title FROM search_entry
      WHERE search_entry MATCH ? AND owner = ? ORDER BY rank LIMIT 50`
    return this.#database.all<Found>(sql, query, owner)
  }
}

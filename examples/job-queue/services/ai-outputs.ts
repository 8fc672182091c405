/** Results of language models: one per document and task. */
import type { Database } from '../../shared/database.ts'

export class AiOutputs {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  find(documentId: string, task: string): string | undefined {
    const sql = 'SELECT output FROM ai_output WHERE entity_id = ? AND task = ?'
    return this.#database.get<{ output: string }>(sql, documentId, task)?.output
  }

  save(documentId: string, task: string, output: string): void {
    const sql = 'INSERT OR REPLACE INTO ai_output (entity_id, task, output) VALUES (?, ?, ?)'
    this.#database.run(sql, documentId, task, output)
  }
}

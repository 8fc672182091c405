/**
 * Uploaded documents. This service owns their rows and files. It does not know about OCR or indexing: processors
 * read documents from it and save the text they found.
 */
import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Database } from '../../shared/database.ts'

export interface Document {
  readonly id: string
  readonly owner: string
  readonly title: string
  readonly file: string
  /** Null until OCR has run. */
  readonly text: string | null
}

export interface NewDocument {
  readonly owner: string
  readonly title: string
  readonly content: Readable
}

/** Uploads in progress. An interrupted one leaves a file that the clean-up removes. */
export const partialSuffix = '.part'

export class DocumentsService {
  readonly #database: Database
  readonly #folder: string

  constructor(database: Database, folder: string) {
    this.#database = database
    this.#folder = folder
  }

  /** Where the files are. */
  get folder(): string {
    return this.#folder
  }

  /** Content goes to disk, never into a job. */
  async add({ owner, title, content }: NewDocument): Promise<string> {
    const id = randomUUID()
    const file = join(this.#folder, id)
    await mkdir(this.#folder, { recursive: true })
    await pipeline(content, createWriteStream(file + partialSuffix))
    await rename(file + partialSuffix, file)
    const sql = 'INSERT INTO document (id, owner, title, file, created_at) VALUES (?, ?, ?, ?, ?)'
    this.#database.run(sql, id, owner, title, file, Date.now())
    return id
  }

  find(id: string): Document | undefined {
    const sql = 'SELECT id, owner, title, file, text FROM document WHERE id = ?'
    return this.#database.get<Document>(sql, id)
  }

  /** False if the document was deleted. */
  saveText(id: string, text: string): boolean {
    return this.#database.run('UPDATE document SET text = ? WHERE id = ?', text, id) === 1
  }

  async delete(id: string): Promise<void> {
    const document = this.find(id)
    if (document === undefined) return
    this.#database.run('DELETE FROM document WHERE id = ?', id)
    await rm(document.file, { force: true })
  }
}

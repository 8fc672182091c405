/** The port of findings on SQLite. */
import type { Finding, FindingStore, ListFindings, NoteFindings } from '../../finding-store.ts'
import type { Session } from '../driver/session.ts'
import type { Writer } from '../driver/writer.ts'
import { hasNothingToNote, listFindings, noteFindings } from './findings.ts'

type Read = <T>(run: (session: Session, now: number) => T) => Promise<T>

export class SqliteFindingStore implements FindingStore {
  readonly #writer: Writer
  readonly #read: Read

  constructor(writer: Writer, read: Read) {
    this.#writer = writer
    this.#read = read
  }

  async note(request: NoteFindings): Promise<readonly Finding[]> {
    if (await this.#read((session) => hasNothingToNote(session, request))) return []
    return this.#writer.submit((tx) => noteFindings(tx, request))
  }

  list(request: ListFindings): Promise<readonly Finding[]> {
    return this.#read((session) => listFindings(session, request))
  }
}

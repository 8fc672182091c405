/**
 * Notices when the files of an open store are removed, moved, replaced or written over. The open
 * connection would continue with the old files, and lose what it acknowledges.
 */

import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { MillraceError } from '../../../core/millrace-error.ts'
import { query } from '../../../engine/statements.ts'
import { Statements } from './statements.ts'
import { isCorrupt, isForeign } from './storage-fault.ts'

/** All of them stay where they are for as long as any connection is open. */
const suffixes = ['', '-wal', '-shm'] as const

/** Marks of a store; the numbers only rise. */
const readMark = query<Mark>('SELECT id_prefix, last_sequence, last_token FROM store')

interface Mark {
  readonly id_prefix: string
  readonly last_sequence: number
  readonly last_token: number
}

export class FileIdentity {
  readonly #file: string
  #identities: readonly string[]
  /** When the file had been written last, the last time its content was in order. */
  #writtenAt: bigint | undefined
  #mark: Mark | undefined
  /** The content could not be read the last time. */
  #isDoubtful = false

  /** Takes the files as they are; call it right after they were opened. */
  constructor(file: string) {
    this.#file = file
    this.#identities = identitiesOf(file)
  }

  /**
   * Throws when the paths do not lead to the open store any more. Without a connection only the
   * store's own file is looked at: the last connection that closes removes the others.
   */
  check(connection: { readonly db: DatabaseSync } | undefined): void {
    const found = identitiesOf(this.#file)
    const changed = suffixes.find((_, index) => found[index] !== this.#identities[index])
    if (changed === '' || (changed !== undefined && connection !== undefined)) {
      throw replaced(this.#file + changed)
    }
    const writtenAt = writeTimeOf(this.#file)
    if (writtenAt === this.#writtenAt || connection === undefined) return
    const content = this.#lookInto(connection.db)
    if (content === 'own') this.#writtenAt = writtenAt
    // It may be in the middle of a checkpoint, but not twice.
    if (content === 'doubtful' && this.#isDoubtful) throw replaced(this.#file)
    this.#isDoubtful = content === 'doubtful'
  }

  /** The same store has another connection, and maybe another log. */
  reopened(): void {
    this.#identities = identitiesOf(this.#file)
  }

  /** Copying over a file keeps its identity. A checkpoint leaves the same store, and no older one. */
  #lookInto(db: DatabaseSync): 'own' | 'doubtful' | 'unknown' {
    const mark = markIn(this.#file)
    if (typeof mark === 'string') {
      // All of a new store is in its log; and a damaged one was damaged before, if it never was sound.
      const isNew = this.#mark === undefined && mark !== 'foreign'
      return mark === 'unknown' ? 'unknown' : isNew ? 'own' : 'doubtful'
    }
    const before = this.#mark ?? markOf(db)
    if (before === undefined) return 'doubtful'
    const isOlder =
      this.#mark !== undefined &&
      (mark.last_sequence < before.last_sequence || mark.last_token < before.last_token)
    if (mark.id_prefix !== before.id_prefix || isOlder) throw replaced(this.#file)
    this.#mark = mark
    return 'own'
  }
}

/** What the open connection reads; undefined when it finds pages of another file among its own. */
function markOf(db: DatabaseSync): Mark | undefined {
  try {
    return new Statements(db).one(readMark)
  } catch (error) {
    if (isCorrupt(error) || isForeign(error)) return undefined
    throw error
  }
}

/** Reads the file alone, without its log and without locks. */
function markIn(file: string): Mark | 'empty' | 'foreign' | 'damaged' | 'unknown' {
  const url = pathToFileURL(file)
  url.searchParams.set('immutable', '1')
  try {
    using db = new DatabaseSync(url, { readOnly: true })
    const { tables } = { ...db.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() }
    if (tables === 0) return 'empty'
    return new Statements(db).one(readMark) ?? 'damaged'
  } catch (error) {
    // It may also be that this process has too many files open, which does not concern this file.
    return isForeign(error) ? 'foreign' : isCorrupt(error) ? 'damaged' : 'unknown'
  }
}

/** Each is the same for as long as its path leads to the same file. */
function identitiesOf(file: string): readonly string[] {
  return suffixes.map((suffix) => {
    const found = statSync(file + suffix, { bigint: true, throwIfNoEntry: false })
    return found === undefined ? '' : `${found.dev} ${found.ino}`
  })
}

function writeTimeOf(file: string): bigint | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false })?.mtimeNs
}

function replaced(path: string): MillraceError {
  return new MillraceError('store_replaced', {
    message:
      `${path} was removed, moved or replaced while the store was open. Nothing more is written. ` +
      'What was acknowledged in the last second may be missing from the new files. Restart the program.',
  })
}

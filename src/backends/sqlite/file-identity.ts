/**
 * Notices when the files of an open store are removed, moved or replaced. The open connection would
 * go on with the old files, and what it acknowledges would be gone with them.
 */
import { statSync } from 'node:fs'
import { MillraceError } from '../../core/millrace-error.ts'

/** All of them stay where they are for as long as any connection is open. */
const suffixes = ['', '-wal', '-shm'] as const

export class FileIdentity {
  readonly #file: string
  #identities: readonly string[]
  #bytes: number

  /** Takes the files as they are; call it right after they were opened. */
  constructor(file: string) {
    this.#file = file
    this.#identities = suffixes.map((suffix) => identityOf(file + suffix))
    this.#bytes = sizeOf(file)
  }

  /**
   * Throws when a path leads to another file than before. Without a connection only the store's own
   * file is looked at: the last one that closes removes the others.
   */
  check(connection: { bytes(): number } | undefined): void {
    for (const [index, suffix] of suffixes.entries()) {
      if (connection === undefined && index > 0) break
      const path = this.#file + suffix
      if (identityOf(path) !== this.#identities[index]) throw replaced(path)
    }
    const bytes = sizeOf(this.#file)
    // Copying over a file keeps its identity. A VACUUM makes it shorter too, but the connection knows.
    if (bytes < this.#bytes && connection !== undefined && bytes < connection.bytes()) {
      throw replaced(this.#file)
    }
    this.#bytes = bytes
  }

  /** The same store has another connection, and maybe another log. */
  reopened(): void {
    this.#identities = suffixes.map((suffix) => identityOf(this.#file + suffix))
  }
}

/** The same for as long as a path leads to the same file. */
function identityOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? '' : `${found.dev} ${found.ino}`
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function replaced(path: string): MillraceError {
  return new MillraceError('store_replaced', {
    message:
      `${path} was removed, moved or replaced while the store was open. Nothing more is written. ` +
      'What was acknowledged in the last second may be missing from the new files. Restart the program.',
  })
}

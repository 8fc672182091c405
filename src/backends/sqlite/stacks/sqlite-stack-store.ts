/**
 * The port of stacks on SQLite. Stacks are read and written when one goes up or a server starts, so their
 * statements are prepared for each call and not kept.
 */
import type { StackName, StackRecord, StackStore, WriteStack } from '../../stack-store.ts'
import { allRows, getRow } from '../driver/rows.ts'
import type { Session } from '../driver/session.ts'
import type { Writer } from '../driver/writer.ts'

type Read = <T>(run: (session: Session, now: number) => T) => Promise<T>

const select = 'SELECT name AS stack, document, written_at AS writtenAt FROM stack'

export class SqliteStackStore implements StackStore {
  readonly #writer: Writer
  readonly #read: Read

  constructor(writer: Writer, read: Read) {
    this.#writer = writer
    this.#read = read
  }

  read({ stack }: StackName): Promise<StackRecord | undefined> {
    return this.#read(({ db }) => {
      const row = getRow<StackRecord>(db.prepare(`${select} WHERE name = ?`), stack)
      return row && recordOf(row)
    })
  }

  list(): Promise<readonly StackRecord[]> {
    return this.#read(({ db }) =>
      allRows<StackRecord>(db.prepare(`${select} ORDER BY name`)).map(recordOf),
    )
  }

  write({ stack, document }: WriteStack): Promise<void> {
    return this.#writer.submit((tx) => {
      tx.session.db
        .prepare('INSERT OR REPLACE INTO stack (name, document, written_at) VALUES (?, ?, ?)')
        .run(stack, document, tx.now)
      tx.wroteRow()
    })
  }
}

/** Rows arrive as objects without a prototype, which are not equal to any other object. */
function recordOf(row: StackRecord): StackRecord {
  return { ...row }
}

/** The port of stacks on SQLite. */
import type { StackName, StackRecord, StackStore, WriteStack } from '../../stack-store.ts'
import type { Session } from '../driver/session.ts'
import { change, query } from '../driver/statements.ts'
import type { Writer } from '../driver/writer.ts'

type Read = <T>(run: (session: Session, now: number) => T) => Promise<T>

const columns = 'name AS stack, document, written_at AS writtenAt'

const sql = {
  byName: query<StackRecord>(`SELECT ${columns} FROM stack WHERE name = ?`),
  all: query<StackRecord>(`SELECT ${columns} FROM stack ORDER BY name`),
  write: change('INSERT OR REPLACE INTO stack (name, document, written_at) VALUES (?, ?, ?)'),
}

export class SqliteStackStore implements StackStore {
  readonly #writer: Writer
  readonly #read: Read

  constructor(writer: Writer, read: Read) {
    this.#writer = writer
    this.#read = read
  }

  read({ stack }: StackName): Promise<StackRecord | undefined> {
    return this.#read((session) => {
      const row = session.one(sql.byName, stack)
      return row && recordOf(row)
    })
  }

  list(): Promise<readonly StackRecord[]> {
    return this.#read((session) => session.all(sql.all).map(recordOf))
  }

  write({ stack, document }: WriteStack): Promise<void> {
    return this.#writer.submit((tx) => {
      tx.run(sql.write, stack, document, tx.now)
      tx.wroteRow()
    })
  }
}

/** Rows arrive as objects without a prototype, which are not equal to any other object. */
function recordOf(row: StackRecord): StackRecord {
  return { ...row }
}

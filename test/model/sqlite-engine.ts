import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { virtualPorts } from '../../src/testing/virtual-clock.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import type { InspectedEngine } from './engine-run.ts'

export interface SqliteEngine extends InspectedEngine {
  readonly file: string
  close(): Promise<void>
  remove(): Promise<void>
}

/** A store on a virtual clock that is opened once and serves many runs, because opening costs more. */
export async function sqliteEngine(): Promise<SqliteEngine> {
  const folder = await temporaryFolder('model')
  const file = folder.file('store.db')
  const ports = virtualPorts()
  let backend: Backend = await openSqlite({ file, ports })
  const inspector = new SqliteInspector(file)
  return {
    file,
    clock: ports.clock,
    backend: () => backend,
    sender: () => backend,
    async reopen() {
      await backend.close()
      backend = await openSqlite({ file, ports })
    },
    rows: async <Row>(sql: string) => inspector.rows<Row>(sql),
    async close() {
      inspector.close()
      await backend.close()
    },
    remove: () => folder.remove(),
  }
}

/** Closes the store, checks its file, and removes it. */
export async function endEngine(engine: SqliteEngine): Promise<void> {
  await engine.close()
  assertSoundStore(engine.file)
  await engine.remove()
}

class SqliteInspector {
  readonly #file: string
  readonly #statements = new Map<string, StatementSync>()
  #db: DatabaseSync | undefined

  constructor(file: string) {
    this.#file = file
  }

  rows<Row>(sql: string): readonly Row[] {
    this.#db ??= new DatabaseSync(this.#file, { readOnly: true })
    const statement = this.#statements.get(sql) ?? this.#db.prepare(sql)
    this.#statements.set(sql, statement)
    return statement.all() as unknown as readonly Row[]
  }

  close(): void {
    this.#db?.close()
  }
}

import type { Backend } from '../../src/backends/backend.ts'
import { openSqlite } from '../../src/backends/sqlite/index.ts'
import { virtualPorts } from '../../src/testing/virtual-clock.ts'
import { assertSoundStore } from '../support/store-inspection.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import type { Engine } from './engine-run.ts'

export interface SqliteEngine extends Engine {
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
  return {
    file,
    clock: ports.clock,
    backend: () => backend,
    async reopen() {
      await backend.close()
      backend = await openSqlite({ file, ports })
    },
    close: () => backend.close(),
    remove: () => folder.remove(),
  }
}

/** Closes the store, checks its file, and removes it. */
export async function endEngine(engine: SqliteEngine): Promise<void> {
  await engine.close()
  assertSoundStore(engine.file)
  await engine.remove()
}

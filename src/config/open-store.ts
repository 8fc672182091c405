/** Opens a store that exists, without an app: for commands that look at it or change its switches. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { SwitchStore } from '../backends/switch-store.ts'
import { MillraceError } from '../core/millrace-error.ts'

export interface OpenedStore extends AsyncDisposable {
  readonly switches: SwitchStore
}

export async function openStore(dataDirectory: string): Promise<OpenedStore> {
  const file = join(resolve(dataDirectory), 'millrace.db')
  // A command that looks must not leave an empty store behind where somebody mistyped a path.
  if (!existsSync(file)) {
    const message = `There is no store in ${resolve(dataDirectory)}.`
    throw new MillraceError('store_unusable', { message })
  }
  const { openSqlite } = await import('../backends/sqlite/index.ts')
  const backend = await openSqlite({ file })
  if (backend.switches === null) throw new MillraceError('unsupported')
  return { switches: backend.switches, [Symbol.asyncDispose]: () => backend.close() }
}

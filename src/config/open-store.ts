/** Opens a store that exists, without an app: for commands that look at it or turn its switches. */
import { stat } from 'node:fs/promises'
import { MillraceError } from '../core/millrace-error.ts'
import { createSwitches, type Switches } from '../operations/switches.ts'
import { dataDirectoryAt } from './data-directory.ts'
import { systemReason } from './system-error.ts'

export interface OpenedStore extends AsyncDisposable {
  /** Queues go by their names in the store: without an app nobody knows their keys. */
  readonly switches: Switches
}

/** A person waits for the answer. */
const busyTimeoutMs = 10_000

export async function openStore(directory: string): Promise<OpenedStore> {
  const { path, file } = dataDirectoryAt(directory)
  await requireStore(path, file)
  const { openSqlite } = await import('../backends/sqlite/index.ts')
  const backend = await openSqlite({ file, busyTimeoutMs })
  return {
    switches: createSwitches({ backend }),
    [Symbol.asyncDispose]: () => backend.close(),
  }
}

/** Opening makes a store of a missing or empty file, which is not what a mistyped path asks for. */
async function requireStore(path: string, file: string): Promise<void> {
  try {
    const { size } = await stat(file)
    if (size > 0) return
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENOTDIR') {
      const reasons = { EACCES: 'this user may not look there' }
      const message = `Cannot open the store in ${path}: ${systemReason(cause, reasons)}.`
      throw new MillraceError('store_unusable', { message, cause })
    }
  }
  throw new MillraceError('store_unusable', { message: `There is no store in ${path}.` })
}

/** Opens a store without an app: for commands that look at it, change it, or turn its switches. */
import { stat } from 'node:fs/promises'
import type { Backend } from '../backends/backend.ts'
import { MillraceError } from '../core/millrace-error.ts'
import { systemPorts } from '../core/ports.ts'
import { Sweeper } from '../maintenance/sweeper.ts'
import { createSwitches, type Switches } from '../operations/switches.ts'
import { type DataDirectory, dataDirectoryAt, prepareDataDirectory } from './data-directory.ts'
import { systemReason } from './system-error.ts'

export interface OpenedStore extends AsyncDisposable {
  readonly backend: Backend
  /** Queues go by their names in the store: without an app nobody knows their keys. */
  readonly switches: Switches
  readonly data: DataDirectory
  /** Keeps the store up while somebody waits for what upkeep does, should nobody else do it. */
  keepUp(): AsyncDisposable
}

export interface OpenStoreOptions {
  /** Makes a store where there is none. Default: such a place is refused. */
  readonly create?: boolean
}

/** A person waits for the answer. */
const busyTimeoutMs = 10_000

export async function openStore(
  directory: string,
  { create = false }: OpenStoreOptions = {},
): Promise<OpenedStore> {
  const data = create ? await prepareDataDirectory(directory) : await existing(directory)
  const { openSqlite } = await import('../backends/sqlite/index.ts')
  const backend = await openSqlite({ file: data.file, busyTimeoutMs })
  return {
    backend,
    switches: createSwitches({ backend }),
    data,
    keepUp: () => keepUp(backend),
    [Symbol.asyncDispose]: () => backend.close(),
  }
}

/** Somebody looks at the progress, so slices follow each other faster than in the background. */
const upkeepMs = 200

function keepUp(backend: Backend): AsyncDisposable {
  const { timers } = systemPorts
  const sweeper = new Sweeper({ backend, timers, intervalMs: upkeepMs })
  sweeper.start()
  return { [Symbol.asyncDispose]: () => sweeper.stop() }
}

/** Whether something is there that could be opened. */
export async function hasStore(directory: string): Promise<boolean> {
  return existing(directory).then(
    () => true,
    () => false,
  )
}

/** Opening makes a store of a missing or empty file, which is not what a mistyped path asks for. */
async function existing(directory: string): Promise<DataDirectory> {
  const data = dataDirectoryAt(directory)
  const { path, file } = data
  try {
    const { size } = await stat(file)
    if (size > 0) return data
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

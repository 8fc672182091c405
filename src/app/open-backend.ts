/**
 * Opens and restores backends. This is the one module that loads a concrete backend, and it does so when one is
 * opened, so that a program pays for no store that it does not use.
 */
import type { Backend, Backup, BackupReport } from '../backends/backend.ts'
import type { ClockChange } from '../core/clock-change.ts'
import { type Ports, systemPorts } from '../core/ports.ts'
import {
  type DataDirectory,
  existingDataDirectory,
  prepareDataDirectory,
  removeEmpty,
} from './data-directory.ts'

export interface OpenBackendOptions {
  readonly data: string
  /** Makes a store where there is none. Default: such a directory is refused. */
  readonly create?: boolean
  /** How long calls wait for other processes that write. Default: as the backend has it. */
  readonly busyTimeoutMs?: number
  /** Time, chance and identity. Default: those of the machine. */
  readonly ports?: Ports
  /** Called when the wall clock jumps, returns, or is followed. */
  readonly onClockChange?: (change: ClockChange) => void
}

export interface OpenedBackend extends AsyncDisposable {
  readonly backend: Backend
  readonly directory: DataDirectory
}

export async function openBackend(options: OpenBackendOptions): Promise<OpenedBackend> {
  const { data, create = false, ...others } = options
  const directory = await (create ? prepareDataDirectory : existingDataDirectory)(data)
  const { openSqlite } = await import('../backends/sqlite/index.ts')
  const backend = await openSqlite({ file: directory.file, ...others })
  return { backend, directory, [Symbol.asyncDispose]: () => backend.close() }
}

/** Whether something is there that could be opened. */
export async function hasStore(directory: string): Promise<boolean> {
  return existingDataDirectory(directory).then(
    () => true,
    () => false,
  )
}

export interface RestoreOptions extends Pick<Backup, 'onProgress' | 'signal'> {
  /** One that has no store. */
  readonly data: string
  /** The file of the backup. */
  readonly from: string
}

/** Puts a backup in the place of a store. */
export async function restoreBackend(options: RestoreOptions): Promise<BackupReport> {
  const { data, ...others } = options
  const { file, made } = await prepareDataDirectory(data)
  try {
    const { restoreStore } = await import('../backends/sqlite/backup/backup.ts')
    return await restoreStore({ ...others, to: file, ids: systemPorts.ids })
  } catch (error) {
    await removeEmpty(made)
    throw error
  }
}

/**
 * Opens and restores backends. Only this module loads a concrete backend, and only on use, so that a program
 * does not load stores that it does not need.
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
import { type EncryptionKey, requireKeys } from './encryption-keys.ts'

export interface OpenBackendOptions {
  readonly data: string
  /** Creates the store if it does not exist. Default: rejects. */
  readonly create?: boolean
  /** How long calls wait for other processes that write. Default: that of the backend. */
  readonly busyTimeoutMs?: number
  /** Seals content with the first of these keys. Default: MILLRACE_ENCRYPTION_KEYS, or none. */
  readonly encryptionKeys?: readonly EncryptionKey[] | undefined
  /** Clock, timers, random numbers and ids. Default: those of the system. */
  readonly ports?: Ports
  /** Called when the wall clock jumps or returns, and when the store accepts a jump. */
  readonly onClockChange?: (change: ClockChange) => void
}

export interface OpenedBackend extends AsyncDisposable {
  readonly backend: Backend
  readonly directory: DataDirectory
}

export async function openBackend(options: OpenBackendOptions): Promise<OpenedBackend> {
  const { data, create = false, encryptionKeys, ...others } = options
  const keys = requireKeys(encryptionKeys)
  const directory = await (create ? prepareDataDirectory : existingDataDirectory)(data)
  const { openSqlite } = await import('../backends/sqlite/index.ts')
  const backend = await openSqlite({
    file: directory.file,
    ...others,
    ...(keys && { sealing: (await import('../sealing/seal-with.ts')).sealingWith(keys) }),
  })
  return { backend, directory, [Symbol.asyncDispose]: () => backend.close() }
}

/** Whether the directory contains a store. */
export async function hasStore(directory: string): Promise<boolean> {
  return existingDataDirectory(directory).then(
    () => true,
    () => false,
  )
}

export interface RestoreOptions extends Pick<Backup, 'onProgress' | 'signal'> {
  /** A directory without a store. */
  readonly data: string
  /** The file of the backup. */
  readonly from: string
}

/** Creates a store from a backup. */
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

/**
 * Opens and restores backends. Only this module loads a concrete backend, and only on use, so that a program
 * does not load stores that it does not need.
 */
import type { Backend, Backup, BackupReport } from '../backends/backend.ts'
import type { Store, StoreOpening } from '../backends/store.ts'
import { isRefused } from '../core/millrace-error.ts'
import { systemPorts } from '../core/ports.ts'
import { isFolder } from './chosen-store.ts'
import {
  type DataDirectory,
  existingDataDirectory,
  prepareDataDirectory,
  removeEmpty,
} from './data-directory.ts'
import { type EncryptionKey, requireKeys } from './encryption-keys.ts'

/** By default the ports are those of the system, and a store that does not exist is refused. */
export interface OpenBackendOptions extends Partial<Omit<StoreOpening, 'sealing'>> {
  /** A store, the URL of a database, or the folder of the embedded store. */
  readonly store: Store | string
  /** Seals content with the first of these keys. Default: MILLRACE_ENCRYPTION_KEYS, or none. */
  readonly encryptionKeys?: readonly EncryptionKey[] | undefined
}

export interface OpenedBackend extends AsyncDisposable {
  readonly backend: Backend
  /** Of the embedded store; null for others. */
  readonly directory: DataDirectory | null
  /** Names the store for people, without secrets. */
  readonly place: string
}

export async function openBackend(options: OpenBackendOptions): Promise<OpenedBackend> {
  const { store, encryptionKeys, ports = systemPorts, create = false, ...others } = options
  const keys = requireKeys(encryptionKeys)
  const sealing = keys && (await import('../sealing/seal-with.ts')).sealingWith(keys)
  const opening = { ports, create, ...others, ...(sealing && { sealing }) }
  if (isFolder(store)) {
    const directory = await (create ? prepareDataDirectory : existingDataDirectory)(store)
    const { openSqlite } = await import('../backends/sqlite/index.ts')
    const backend = await openSqlite({ file: directory.file, ...opening })
    return opened({ backend, directory, place: directory.path })
  }
  const named = typeof store === 'string' ? await postgresAt(store) : store
  const backend = await named.open(opening)
  return opened({ backend, directory: null, place: named.place })
}

async function postgresAt(url: string): Promise<Store> {
  return (await import('../backends/postgres/store.ts')).postgres(url)
}

function opened(store: Omit<OpenedBackend, typeof Symbol.asyncDispose>): OpenedBackend {
  return { ...store, [Symbol.asyncDispose]: () => store.backend.close() }
}

/** Whether a store exists: in the folder, or in the database. */
export async function hasStore(store: string): Promise<boolean> {
  if (isFolder(store)) {
    return existingDataDirectory(store).then(
      () => true,
      () => false,
    )
  }
  try {
    await using _store = await openBackend({ store })
    return true
  } catch (error) {
    if (isRefused(error, 'store_not_found')) return false
    throw error
  }
}

export interface RestoreOptions extends Pick<Backup, 'onProgress' | 'signal'> {
  /** A directory without a store. Databases are restored by their own tools. */
  readonly store: string
  /** The file of the backup. */
  readonly from: string
}

/** Creates a store from a backup. */
export async function restoreBackend(options: RestoreOptions): Promise<BackupReport> {
  const { store, ...others } = options
  if (!isFolder(store)) {
    const { restoreRefused } = await import('../backends/postgres/backup-advice.ts')
    throw restoreRefused(store, options.from)
  }
  const { file, made } = await prepareDataDirectory(store)
  try {
    const { restoreStore } = await import('../backends/sqlite/backup/backup.ts')
    return await restoreStore({ ...others, to: file, ids: systemPorts.ids })
  } catch (error) {
    await removeEmpty(made)
    throw error
  }
}

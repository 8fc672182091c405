/**
 * The embedded store: one SQLite file that any number of processes of one machine may open at once.
 * Nothing is installed and nothing listens; acknowledged writes are on disk.
 */
import { systemPorts } from '../../core/ports.ts'
import { engineBackend } from '../../engine/engine-backend.ts'
import type { Backend } from '../backend.ts'
import { checkedBackend } from '../checked-backend.ts'
import { nothingSealed, type StoreOpening } from '../store.ts'
import { storageError } from './driver/storage-fault.ts'
import { SqliteDatabase, type SqliteDatabaseOptions } from './sqlite-database.ts'

export { memoryFile } from './driver/store-place.ts'

/** Operations wait for other processes for one minute by default. */
export interface SqliteOptions extends Partial<Omit<StoreOpening, 'create'>> {
  /** Path of the store's file; it is created when it does not exist. `:memory:` is a store without one. */
  readonly file: string
}

export async function openSqlite(options: SqliteOptions): Promise<Backend> {
  const { sealing } = options
  const backend = engineBackend(opened(options, { records: false, answersLate: false }))
  if (sealing === undefined) return checkedBackend(backend)
  try {
    return checkedBackend(await sealing.wrap(backend))
  } catch (error) {
    throw storageError(error)
  }
}

export interface RecordingStore extends Pick<SqliteDatabase, 'sentMessages'> {
  readonly backend: Backend
}

/** Opens a store that records what is sent to it. Only this process may use it. */
export async function openRecordingSqlite(
  options: Omit<SqliteOptions, 'sealing'> & Pick<SqliteDatabaseOptions, 'answersLate'>,
): Promise<RecordingStore> {
  const database = opened(options, { records: true, answersLate: options.answersLate ?? false })
  const backend = checkedBackend(engineBackend(database))
  return { backend, sentMessages: (request) => database.sentMessages(request) }
}

function opened(
  options: SqliteOptions,
  testing: Required<Pick<SqliteDatabaseOptions, 'records' | 'answersLate'>>,
): SqliteDatabase {
  const { file, ports = systemPorts, busyTimeoutMs = 60_000 } = options
  const { sealing: opening = nothingSealed, onClockChange, onAttemptLost } = options
  const listeners = { onClockChange, onAttemptLost }
  try {
    return new SqliteDatabase({ file, ports, busyTimeoutMs, opening, ...listeners, ...testing })
  } catch (error) {
    throw storageError(error)
  }
}

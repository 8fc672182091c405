/** Puts a backup in the place of a store, in a data directory that has none. */
import type { BackupReport } from '../backends/backend.ts'
import { systemPorts } from '../core/ports.ts'
import { prepareDataDirectory } from './data-directory.ts'

export async function restoreInto(directory: string, backup: string): Promise<BackupReport> {
  const { file } = await prepareDataDirectory(directory)
  const { restoreStore } = await import('../backends/sqlite/backup.ts')
  return restoreStore({ from: backup, to: file, ids: systemPorts.ids })
}

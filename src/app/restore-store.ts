/** Puts a backup in the place of a store, in a data directory that has none. */
import type { Backup, BackupReport } from '../backends/backend.ts'
import { systemPorts } from '../core/ports.ts'
import { prepareDataDirectory, removeEmpty } from './data-directory.ts'

export async function restoreInto(
  directory: string,
  backup: string,
  watch: Pick<Backup, 'onProgress' | 'signal'> = {},
): Promise<BackupReport> {
  const { file, made } = await prepareDataDirectory(directory)
  try {
    const { restoreStore } = await import('../backends/sqlite/backup/backup.ts')
    return await restoreStore({ from: backup, to: file, ids: systemPorts.ids, ...watch })
  } catch (error) {
    await removeEmpty(made)
    throw error
  }
}

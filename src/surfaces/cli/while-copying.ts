/** Shared by `backup` and `restore`: shows progress, and removes the partial copy on Ctrl-C. */
import type { Backup, BackupReport } from '../../backends/backend.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { byteUnit, inUnit } from './byte-size.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { createProgress } from './progress.ts'
import type { Call, StoreFlags } from './store-command.ts'

export interface Copying {
  /** The error text after Ctrl-C. */
  readonly interrupted: string
  copy(watch: Required<Pick<Backup, 'onProgress' | 'signal'>>): Promise<BackupReport>
}

export async function whileCopying(
  call: Call<StoreFlags>,
  { interrupted, copy }: Copying,
): Promise<BackupReport> {
  const stopping = new AbortController()
  const forget = call.shell.onStop(() => stopping.abort())
  using progress = createProgress(call, 'Copied')
  try {
    return await copy({
      signal: stopping.signal,
      onProgress: ({ bytes, totalBytes }) => {
        const unit = byteUnit(totalBytes)
        progress.show({ done: inUnit(bytes, unit), of: inUnit(totalBytes, unit), unit: unit.name })
      },
    })
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code !== 'aborted') throw error
    throw new CommandFailure(exitCodes.interrupted, interrupted)
  } finally {
    forget()
  }
}

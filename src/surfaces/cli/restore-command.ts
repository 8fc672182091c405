/** `millrace restore`: creates a store from a backup. */
import type { Command } from 'commander'
import type { ErrorCode } from '../../core/error-codes.ts'
import { MillraceError } from '../../core/millrace-error.ts'
import { byteSize } from './byte-size.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import type { Shell } from './shell.ts'
import { type Call, run, type StoreFlags, storeCommand } from './store-command.ts'
import { printable } from './table.ts'
import { whileCopying } from './while-copying.ts'

export function restoreCommand(parent: Command, shell: Shell): void {
  const command = storeCommand(parent, {
    usage: 'restore <file>',
    description: 'Verify a backup and create a store from it. Never overwrites a store.',
    examples: ['restore millrace-backup.db', 'restore /backups/monday.db --data restored'],
  })
  run(shell, command, restore)
}

const refusals: readonly ErrorCode[] = ['file_exists', 'backup_failed', 'unsupported']

async function restore(call: Call<StoreFlags>, file: string): Promise<void> {
  const { flags, output, shell } = call
  const { restoreBackend } = await shell.platform.stores()
  const report = await whileCopying(call, {
    interrupted: 'Interrupted. Nothing was restored.',
    copy: (watch) => restoreBackend({ store: flags.store, from: file, ...watch }),
  }).catch((error: unknown) => {
    if (!(error instanceof MillraceError)) throw error
    const isRefused = refusals.includes(error.code)
    const exitCode = isRefused ? exitCodes.failed : exitCodes.cannotOpen
    throw new CommandFailure(exitCode, error.message)
  })
  if (flags.json) return output.json(report)
  output.line(`Restored and verified ${printable(report.file)} (${byteSize(report.bytes)}).`)
}

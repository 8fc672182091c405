/** `millrace backup`: copies a store while it is in use, into one verified file. */
import type { Command } from 'commander'
import { MillraceError } from '../../core/millrace-error.ts'
import { CommandFailure } from './command-failure.ts'
import { exitCodes } from './exit-codes.ts'
import { createProgress } from './progress.ts'
import type { Shell } from './shell.ts'
import { type Call, inStore, run, type StoreFlags, storeCommand } from './store-command.ts'
import { printable } from './table.ts'

export function backupCommand(parent: Command, shell: Shell): void {
  const command = storeCommand(parent, {
    usage: 'backup <file>',
    description: 'Copy the store into a new file while it is in use, and verify the copy.',
    examples: ['backup millrace-backup.db', 'backup /backups/monday.db --json'],
  })
  run(shell, command, backUp)
}

async function backUp(call: Call<StoreFlags>, file: string): Promise<void> {
  const { flags, voice, shell } = call
  const interrupted = new AbortController()
  const forget = shell.onStop(() => interrupted.abort())
  using progress = createProgress(call, 'Copied kilobytes:')
  try {
    const report = await inStore(flags, ({ backend }) =>
      backend
        .backup({
          file,
          signal: interrupted.signal,
          onProgress: ({ bytes, totalBytes }) =>
            progress.show({ done: kilobytes(bytes), of: kilobytes(totalBytes) }),
        })
        .catch(wasInterrupted),
    )
    progress.end()
    if (flags.json) voice.tell(report)
    else voice.say(`Wrote ${printable(report.file)}, ${kilobytes(report.bytes)} kB, verified.`)
  } finally {
    forget()
  }
}

function wasInterrupted(error: unknown): never {
  if (!(error instanceof MillraceError) || error.code !== 'aborted') throw error
  throw new CommandFailure(exitCodes.interrupted, 'Interrupted; no backup was written.')
}

export function kilobytes(bytes: number): number {
  return Math.ceil(bytes / 1_024)
}

/** `millrace backup`: copies a store while it is in use, into one verified file. */
import type { Command } from 'commander'
import { byteSize } from './byte-size.ts'
import type { Shell } from './shell.ts'
import { type Call, inStore, run, type StoreFlags, storeCommand } from './store-command.ts'
import { printable } from './table.ts'
import { whileCopying } from './while-copying.ts'

export function backupCommand(parent: Command, shell: Shell): void {
  const command = storeCommand(parent, {
    usage: 'backup <file>',
    description: 'Copy the store into a new file while it is in use, and verify the copy.',
    examples: ['backup millrace-backup.db', 'backup /backups/monday.db --json'],
  })
  run(shell, command, backUp)
}

async function backUp(call: Call<StoreFlags>, file: string): Promise<void> {
  const { flags, output } = call
  const report = await inStore(call, ({ backend }) =>
    whileCopying(call, {
      interrupted: 'Interrupted; no backup was written.',
      copy: (watch) => backend.backup({ file, ...watch }),
    }),
  )
  if (flags.json) output.json(report)
  else output.line(`Wrote ${printable(report.file)}, ${byteSize(report.bytes)}, verified.`)
}

/** `millrace backup`: copies a store into one verified file, while the store is in use. */
import type { Command } from 'commander'
import { byteSize } from './byte-size.ts'
import type { Shell } from './shell.ts'
import { type Call, inStore, run, type StoreFlags, storeCommand } from './store-command.ts'
import { printable } from './table.ts'
import { whileCopying } from './while-copying.ts'

export function backupCommand(parent: Command, shell: Shell): void {
  const command = storeCommand(parent, {
    usage: 'backup <file>',
    description: 'Copy the store to a new file and verify the copy. The store can be in use.',
    examples: ['backup millrace-backup.db', 'backup /backups/monday.db --json'],
  })
  run(shell, command, backUp)
}

async function backUp(call: Call<StoreFlags>, file: string): Promise<void> {
  const { flags, output } = call
  const report = await inStore(call, ({ backend }) =>
    whileCopying(call, {
      interrupted: 'Interrupted. No backup was written.',
      copy: (watch) => backend.backup({ file, ...watch }),
    }),
  )
  if (flags.json) output.json(report)
  else output.line(`Wrote and verified ${printable(report.file)} (${byteSize(report.bytes)}).`)
}

/** Holds the write lock of a store again and again, as a process with large commits does. */
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as after } from 'node:timers/promises'
import { childArgument, tellParent } from '../support/child-program.ts'

const { file } = childArgument<{ readonly file: string }>()
const db = new DatabaseSync(file, { timeout: 10_000 })
for (;;) {
  db.exec('BEGIN IMMEDIATE')
  await after(20)
  db.exec('ROLLBACK')
  tellParent({ kind: 'busy' })
  await after(3)
}

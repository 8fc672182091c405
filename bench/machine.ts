/** What the results depend on: the machine, the versions and the durability. */
import { cpus, release, totalmem } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import type { MeasuredDatabase } from './report.ts'

export function machineLines(
  { version, durability }: MeasuredDatabase = embeddedStore(),
): readonly string[] {
  const [cpu] = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  return [
    `Machine: ${cpus().length} cores (${cpu?.model.trim() ?? 'unknown'}), ${memory} GiB, ${process.platform} ${release()}`,
    `Versions: Node ${process.versions.node}, ${version}`,
    `Durability: ${durability}; every call returns after its commit is on disk`,
  ]
}

function embeddedStore(): MeasuredDatabase {
  return { version: `SQLite ${sqliteVersion()}`, durability: 'WAL, synchronous = FULL' }
}

function sqliteVersion(): string {
  const db = new DatabaseSync(':memory:')
  try {
    return String(db.prepare('SELECT sqlite_version() AS version').get()?.['version'])
  } finally {
    db.close()
  }
}

/** What the results depend on: the machine, the versions and the durability. */
import { cpus, release, totalmem } from 'node:os'
import { DatabaseSync } from 'node:sqlite'

export function machineLines(): readonly string[] {
  const [cpu] = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  return [
    `Machine: ${cpus().length} cores (${cpu?.model.trim() ?? 'unknown'}), ${memory} GiB, ${process.platform} ${release()}`,
    `Versions: Node ${process.versions.node}, SQLite ${sqliteVersion()}`,
    'Durability: WAL, synchronous = FULL; every call returns after its commit is on disk',
  ]
}

function sqliteVersion(): string {
  const db = new DatabaseSync(':memory:')
  try {
    return String(db.prepare('SELECT sqlite_version() AS version').get()?.['version'])
  } finally {
    db.close()
  }
}

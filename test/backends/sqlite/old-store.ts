/** Stores as earlier programs left them, from the texts that lie beside this file. */
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { migrations } from '../../../src/backends/sqlite/migrations/index.ts'

/** Writes the file of a store of this schema version. */
export function writeOldStore(file: string, schemaVersion: 4 | 6): void {
  const content = new URL(`store-version-${schemaVersion}.sql`, import.meta.url)
  const db = new DatabaseSync(file)
  for (const migration of migrations.slice(0, schemaVersion)) db.exec(migration)
  db.exec(readFileSync(content, 'utf8'))
  db.exec(`PRAGMA user_version = ${schemaVersion}; PRAGMA application_id = ${0x4d694c72};`)
  db.close()
}

/** A receipt as stores of these versions gave it out: with check digits, and without a secret. */
export function formerReceipt(receipt: {
  readonly queueId: number
  readonly sequence: number
  readonly token: number
}): string {
  const { queueId, sequence, token } = receipt
  const sum = queueId * 31 + sequence * 1_009 + (token % 9_999_991) * 65_537 + 7
  return `r1-${queueId}-${sequence}-${token}-${sum % 9_999_991}`
}

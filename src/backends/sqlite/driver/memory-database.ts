/** Opens a store in memory. */
import { DatabaseSync } from 'node:sqlite'
import type { Ids } from '../../../core/ports.ts'
import { migrate } from './database.ts'

const file = ':memory:'

export function openMemoryDatabase(ids: Ids): DatabaseSync {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA temp_store = MEMORY')
  migrate(db, file)
  // A new store chooses these at random. Here message ids and receipts follow from the ports.
  const digits = ids.next().replaceAll('-', '')
  const [prefix, key] = [digits.slice(0, idPrefixLength), digits.slice(-receiptKeyLength)]
  db.prepare('UPDATE store SET id_prefix = ?, receipt_key = ?').run(prefix, key)
  return db
}

const idPrefixLength = 14
const receiptKeyLength = 16

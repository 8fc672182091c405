/**
 * Opens the file of a store: refuses what is not one, brings an older schema up to date, and sets
 * durability. Every connection to a store is made here.
 */
import { DatabaseSync } from 'node:sqlite'
import { MillraceError } from '../../../core/millrace-error.ts'
import { migrations } from '../migrations/index.ts'
import { isDiskFull, releaseReserve, tightLogBytes } from './disk-room.ts'
import { createStore } from './new-store.ts'
import { mayMeanFull, storageError } from './storage-fault.ts'

/** "MiLr": marks a file as a Millrace store, so that no foreign database is ever touched. */
const applicationId = 0x4d694c72

/** How long opening waits for another process that is opening or closing the same file. */
const openTimeoutMs = 10_000

export function openDatabase(file: string): DatabaseSync {
  try {
    return openOnce(file)
  } catch (error) {
    // Opening creates the log and its index, which may not fit.
    const { code } = error as Partial<MillraceError>
    const mayBeFull = code === 'store_full' || code === 'store_failed'
    if (!mayBeFull || !releaseReserve(file)) throw error
    return openOnce(file)
  }
}

function openOnce(file: string): DatabaseSync {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(file, { timeout: openTimeoutMs })
    // A file that cannot be opened stays exactly as it was.
    refuseForeign(db, file)
    version(db, file)
    db.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA cache_size = -16000;
      PRAGMA temp_store = MEMORY;
    `)
    boundLog(db, { isTight: false })
    requireWal(db, file)
    migrate(db, file)
    // From here on the writer waits for the lock itself, without blocking the event loop.
    db.exec('PRAGMA busy_timeout = 0')
    return db
  } catch (error) {
    if (db?.isOpen) db.close()
    throw openError(error, file)
  }
}

/** Checkpoints often and gives room back at once where the disk is nearly full. */
export function boundLog(db: DatabaseSync, { isTight }: { readonly isTight: boolean }): void {
  const [pages, bytes] = isTight ? [50, tightLogBytes] : [2_000, 2 ** 26]
  db.exec(`PRAGMA wal_autocheckpoint = ${pages}; PRAGMA journal_size_limit = ${bytes}`)
}

/** Refuses what is neither a store nor an empty database, before anything is written to it. */
function refuseForeign(db: DatabaseSync, file: string): void {
  const id = pragma(db, 'application_id')
  const found = pragma(db, 'user_version')
  const { tables, stores } = { ...db.prepare(countTables).get() }
  if (id === 0 && found === 0 && tables === 0) return
  if (id !== applicationId) {
    throw new MillraceError('store_foreign', {
      message: `${file} is a database of another program. Choose another path, or move the file away.`,
    })
  }
  if (found >= 1 && stores === 1) return
  // A new store gets its tables, its version and its mark in one commit.
  const reason = found >= 1 ? 'its tables are missing' : `its schema version is ${found}`
  throw new MillraceError('store_corrupt', {
    message:
      `${file} is marked as a Millrace store, but ${reason}: it is damaged, or another program ` +
      'changed it. Restore it from a backup, or move the file away to start with an empty store.',
  })
}

/** Refuses what is not a store that this program can open. The name is only shown. */
export function requireStore(db: DatabaseSync, name: string): void {
  refuseForeign(db, name)
  if (version(db, name) > 0) return
  throw new MillraceError('store_foreign', {
    message: `${name} is an empty database, not a Millrace store.`,
  })
}

const countTables = `
  SELECT count(*) AS tables, count(*) FILTER (WHERE type = 'table' AND name = 'store') AS stores
  FROM sqlite_schema`

function requireWal(db: DatabaseSync, file: string): void {
  const mode = db.prepare('PRAGMA journal_mode').get()?.['journal_mode']
  if (mode === 'wal') return
  throw new MillraceError('store_unusable', {
    message: `${file} lies on a file system without shared memory, which the store needs. Choose a local disk.`,
  })
}

/** Brings the schema up to date. The name of the file is only shown. */
export function migrate(db: DatabaseSync, file: string): void {
  if (version(db, file) === migrations.length) return
  db.exec('BEGIN IMMEDIATE')
  try {
    // Another process may have done it while this one waited for the lock.
    const found = version(db, file)
    if (found === 0) createStore(db)
    else for (const migration of migrations.slice(found)) db.exec(migration)
    db.exec(`PRAGMA user_version = ${migrations.length}; PRAGMA application_id = ${applicationId};`)
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

function version(db: DatabaseSync, file: string): number {
  const found = pragma(db, 'user_version')
  if (found <= migrations.length) return found
  throw new MillraceError('store_too_new', {
    message: `${file} has schema version ${found}; this program knows up to ${migrations.length}. Upgrade Millrace to open it.`,
  })
}

function pragma(db: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name])
}

function openError(error: unknown, file: string): Error {
  const isFull = mayMeanFull(error) && isDiskFull(file)
  const typed = isFull ? new MillraceError('store_full') : storageError(error)
  if (!(typed instanceof MillraceError) || typed === error) return typed
  return new MillraceError(typed.code, { message: `${file}: ${typed.message}`, cause: error })
}

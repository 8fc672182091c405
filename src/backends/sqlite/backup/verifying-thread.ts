/**
 * Verifies a copy of a store in a thread of its own, because reading all of a large file would block
 * the event loop. It leaves one file without a log beside it.
 */
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { ErrorCode } from '../../../core/error-codes.ts'
import { MillraceError } from '../../../core/millrace-error.ts'
import { requireStore } from '../driver/database.ts'
import { storageError } from '../driver/storage-fault.ts'

/** What the thread posts: nothing, or why the file is not a sound store. */
export type Verdict = { readonly code: ErrorCode; readonly message: string } | undefined

export interface VerifyFile {
  readonly file: string
  /** What errors call it. */
  readonly name: string
  /** What is said when it is damaged. */
  readonly damaged: string
}

function verify({ file, name, damaged }: VerifyFile): Verdict {
  try {
    using db = new DatabaseSync(file)
    requireStore(db, name)
    db.exec('PRAGMA journal_mode = DELETE')
    const found = db.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check']
    if (found === 'ok') return undefined
    return { code: 'store_corrupt', message: `${damaged} ${String(found)}` }
  } catch (error) {
    const typed = storageError(error)
    const code = typed instanceof MillraceError ? typed.code : 'store_corrupt'
    if (code === 'store_corrupt') return { code, message: damaged }
    const { message } = typed
    return { code, message: message.startsWith(name) ? message : `${name}: ${message}` }
  }
}

parentPort?.postMessage(verify(workerData as VerifyFile))

/**
 * Copies a store while it is in use, and puts such a copy in place. Both write under a temporary name,
 * verify what they wrote, and only then give it its name, which must be new: a file under its final
 * name is whole.
 */
import { link, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { MillraceError } from '../../../core/millrace-error.ts'
import type { Ids } from '../../../core/ports.ts'
import type { Backup, BackupReport } from '../../backend.ts'
import { pageBytes } from '../driver/disk-room.ts'
import { targetFault } from './copy-faults.ts'
import { copyInSteps } from './copy-in-steps.ts'
import type { Verdict, VerifyFile } from './verifying-thread.ts'

/** Copied at a time, in a thread of the pool. */
const stepPages = 500

/** It lies beside this file, which runs from the sources and from the build. */
const verifyingModule = new URL(import.meta.url.replace(/backup(\.[jt]s)$/, 'verifying-thread$1'))

export interface BackUpStore extends Backup {
  /** The store's own file; null if it is in memory. */
  readonly source: string | null
  readonly ids: Ids
}

export async function backUpStore(request: BackUpStore): Promise<BackupReport> {
  const { source, onProgress, signal, ids } = request
  if (source === null) {
    const message = 'A store in memory cannot be backed up.'
    throw new MillraceError('unsupported', { message })
  }
  const file = resolve(request.file)
  const damaged = `The copy in ${file} was damaged, and is removed. The store itself may be damaged.`
  const bytes = await writeNew({ file, ids, name: file, damaged, signal }, async (draft) => {
    const db = new DatabaseSync(source, { readOnly: true })
    try {
      // A transaction keeps the state of this moment, however much is written in the meantime.
      db.exec('BEGIN')
      db.prepare('SELECT count(*) FROM store').get()
      await backup(db, draft, {
        rate: stepPages,
        progress: ({ totalPages, remainingPages }) => {
          unlessAborted(file, signal)
          const copied = totalPages - remainingPages
          onProgress?.({ bytes: copied * pageBytes, totalBytes: totalPages * pageBytes })
        },
      })
    } finally {
      db.close()
    }
  })
  onProgress?.({ bytes, totalBytes: bytes })
  return { file, bytes }
}

export interface RestoreStore extends Pick<Backup, 'onProgress' | 'signal'> {
  /** The backup, which is left as it is. */
  readonly from: string
  /** Where the store will be. */
  readonly to: string
  readonly ids: Ids
}

export async function restoreStore(request: RestoreStore): Promise<BackupReport> {
  const { from, to, ids, onProgress, signal } = request
  const file = resolve(to)
  // SQLite would take the log of an earlier store for that of the new one.
  await refuseExisting(`${file}-wal`)
  const damaged = `The backup ${from} is damaged. Use another one.`
  const bytes = await writeNew({ file, ids, name: from, damaged, signal }, async (draft) => {
    // A copy of a store that was not closed has its latest changes beside it.
    const suffixes = (await sizeOf(`${from}-wal`)) === undefined ? [''] : ['', '-wal']
    const sizes = await Promise.all(suffixes.map((suffix) => sizeOf(from + suffix)))
    const totalBytes = sizes.reduce<number>((sum, size = 0) => sum + size, 0)
    let copied = 0
    const onStep = (step: number): void => {
      unlessAborted(file, signal)
      copied += step
      onProgress?.({ bytes: copied, totalBytes })
    }
    for (const suffix of suffixes) {
      await copyInSteps({ from: from + suffix, to: draft + suffix, onStep })
    }
  })
  return { file, bytes }
}

interface NewFile {
  readonly file: string
  readonly ids: Ids
  /** What an error of the verification is about. */
  readonly name: string
  /** What is said when the copy turns out to be damaged. */
  readonly damaged: string
  readonly signal?: AbortSignal | undefined
}

/** Writes a file that only its owner may read, verifies it, and gives it its name; returns its size. */
async function writeNew(
  { file, ids, name, damaged, signal }: NewFile,
  write: (draft: string) => Promise<void>,
): Promise<number> {
  await refuseExisting(file)
  const draft = join(dirname(file), `.${basename(file)}.${ids.next()}.partial`)
  try {
    await (await open(draft, 'wx', 0o600)).close()
    await write(draft)
    unlessAborted(file, signal)
    await verify({ file: draft, name, damaged })
    await sync(draft)
    const { size } = await stat(draft)
    unlessAborted(file, signal)
    await nameIt(draft, file)
    await sync(dirname(file))
    return size
  } catch (error) {
    throw isOfCopy(error) ? targetFault(file, error) : error
  } finally {
    for (const suffix of ['', '-wal', '-shm', '-journal']) {
      await rm(draft + suffix, { force: true }).catch(() => undefined)
    }
  }
}

/** Also what the verification met on the disk of the copy. */
function isOfCopy(error: unknown): boolean {
  if (!(error instanceof MillraceError)) return true
  return error.code === 'store_full' || error.code === 'store_failed'
}

function unlessAborted(file: string, signal: AbortSignal | undefined): void {
  if (!signal?.aborted) return
  throw new MillraceError('aborted', { message: `Aborted: ${file} was not written.` })
}

async function refuseExisting(file: string): Promise<void> {
  if ((await sizeOf(file)) !== undefined) throw exists(file)
}

function exists(file: string): MillraceError {
  return new MillraceError('file_exists', {
    message: `${file} exists, and is not overwritten. Choose another path, or move it away.`,
  })
}

/** A link, unlike a rename, does not take the place of a file that has appeared in the meantime. */
async function nameIt(draft: string, file: string): Promise<void> {
  try {
    await link(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw exists(file)
    // Some file systems have no links.
    await refuseExisting(file)
    await rename(draft, file)
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function verify(workerData: VerifyFile): Promise<void> {
  const verdict = await new Promise<Verdict>((resolveWith, reject) => {
    const thread = new Worker(verifyingModule, { workerData })
    thread.once('message', resolveWith)
    thread.once('error', reject)
  })
  if (verdict !== undefined) throw new MillraceError(verdict.code, { message: verdict.message })
}

async function sizeOf(file: string): Promise<number | undefined> {
  return (await stat(file).catch(() => undefined))?.size
}

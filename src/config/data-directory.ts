import { mkdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { MillraceError } from '../core/millrace-error.ts'
import { systemReason } from './system-error.ts'

export interface DataDirectory {
  /** Absolute. */
  readonly path: string
  /** The embedded store. */
  readonly file: string
}

/** Where things are, whether they exist or not. */
export function dataDirectoryAt(directory: string): DataDirectory {
  const path = resolve(directory)
  return { path, file: join(path, 'millrace.db') }
}

/** Creates the directory when it is missing. Messages may be private: only the owner may look in. */
export async function prepareDataDirectory(directory: string): Promise<DataDirectory> {
  const data = dataDirectoryAt(directory)
  const { path } = data
  try {
    await makeDirectory(path)
  } catch (cause) {
    const message = `Cannot use ${path} as the data directory: ${systemReason(cause, reasons)}.`
    throw new MillraceError('store_unusable', { message, cause })
  }
  return data
}

/**
 * Not `mkdir` with `recursive`, which tries for ever where a directory exists but takes no new
 * entries, as in /proc.
 */
async function makeDirectory(path: string): Promise<void> {
  const refusal = await tryMakeDirectory(path)
  if (refusal?.code === 'ENOENT' && dirname(path) !== path) {
    await makeDirectory(dirname(path))
    const secondRefusal = await tryMakeDirectory(path)
    if (secondRefusal !== undefined) throw secondRefusal
  } else if (refusal !== undefined) {
    throw refusal
  }
}

/** Nothing when the directory is there now, whoever made it. */
async function tryMakeDirectory(path: string): Promise<NodeJS.ErrnoException | undefined> {
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    const existing = await stat(path).catch(() => undefined)
    return existing?.isDirectory() ? undefined : (error as NodeJS.ErrnoException)
  }
  return undefined
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EEXIST: 'it is not a directory',
  ENOENT: 'it cannot be created',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is not a directory',
  EPERM: 'this user may not write there',
  EROFS: 'the disk is read-only',
}

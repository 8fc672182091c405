import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { MillraceError } from '../core/millrace-error.ts'
import { systemReason } from './system-error.ts'

export interface DataDirectory {
  /** Absolute. */
  readonly path: string
  /** The embedded store. */
  readonly file: string
}

/** Creates the directory when it is missing. Messages may be private: only the owner may look in. */
export async function prepareDataDirectory(directory: string): Promise<DataDirectory> {
  const path = resolve(directory)
  try {
    await mkdir(path, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const message = `Cannot use ${path} as the data directory: ${systemReason(cause, reasons)}.`
    throw new MillraceError('store_unusable', { message, cause })
  }
  return { path, file: join(path, 'millrace.db') }
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

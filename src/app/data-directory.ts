import { mkdir, rmdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { MillraceError } from '../core/millrace-error.ts'
import { systemReason } from '../core/system-reason.ts'

export interface DataDirectory {
  /** An absolute path. */
  readonly path: string
  /** The file of the embedded store. */
  readonly file: string
}

/** The paths of a data directory, which need not exist. */
export function dataDirectoryAt(directory: string): DataDirectory {
  const path = resolve(directory)
  return { path, file: join(path, 'millrace.db') }
}

export interface PreparedDirectory extends DataDirectory {
  /** The created directories, outermost first. */
  readonly made: readonly string[]
}

/** Creates the directory if missing, readable only by the owner, because messages may be private. */
export async function prepareDataDirectory(directory: string): Promise<PreparedDirectory> {
  const data = dataDirectoryAt(directory)
  const { path } = data
  const made: string[] = []
  try {
    await makeDirectory(path, made)
  } catch (cause) {
    await removeEmpty(made)
    const message = `Cannot use ${path} as the data directory: ${systemReason(cause, reasons)}.`
    throw new MillraceError('store_unusable', { message, cause })
  }
  return { ...data, made }
}

/** Checks that a store exists. Opening would create one, even for a mistyped path. */
export async function existingDataDirectory(directory: string): Promise<DataDirectory> {
  const data = dataDirectoryAt(directory)
  const { path, file } = data
  try {
    const { size } = await stat(file)
    if (size > 0) return data
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENOTDIR') {
      const reasons = { EACCES: 'this user may not read it' }
      const message = `Cannot open the store in ${path}: ${systemReason(cause, reasons)}.`
      throw new MillraceError('store_unusable', { message, cause })
    }
  }
  throw new MillraceError('store_not_found', { message: `There is no store in ${path}.` })
}

/** Removes created directories that are still empty. */
export async function removeEmpty(made: readonly string[]): Promise<void> {
  for (const path of made.toReversed()) await rmdir(path).catch(() => undefined)
}

/**
 * Not `mkdir` with `recursive`, which loops for ever if a directory exists but allows no new entries, as in
 * /proc.
 */
async function makeDirectory(path: string, made: string[]): Promise<void> {
  const refusal = await tryMakeDirectory(path, made)
  if (refusal?.code === 'ENOENT' && dirname(path) !== path) {
    await makeDirectory(dirname(path), made)
    const secondRefusal = await tryMakeDirectory(path, made)
    if (secondRefusal !== undefined) throw secondRefusal
  } else if (refusal !== undefined) {
    throw refusal
  }
}

/** Resolves with undefined if the directory exists now, even if another process created it. */
async function tryMakeDirectory(
  path: string,
  made: string[],
): Promise<NodeJS.ErrnoException | undefined> {
  try {
    await mkdir(path, { mode: 0o700 })
    made.push(path)
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

/**
 * Why a copy of a store could not be read or written, in words about the path that was asked for: the
 * temporary name, and the disk of the other file, are none of the reader's business.
 */
import { dirname } from 'node:path'
import { MillraceError } from '../../../core/millrace-error.ts'
import { isDiskFull } from '../driver/disk-room.ts'
import { isFullFault, storageError } from '../driver/storage-fault.ts'

type Reasons = Readonly<Record<string, string>>

export function sourceFault(file: string, cause: unknown): MillraceError {
  const reasons = {
    EACCES: 'this user may not read it',
    EPERM: 'this user may not read it',
    EISDIR: 'it is a folder',
    ENOENT: 'it does not exist',
    ENOTDIR: 'it does not exist',
  }
  const message = `Cannot read ${file}: ${reasonOf(cause, reasons)}`
  return new MillraceError('store_unusable', { message, cause })
}

export function targetFault(file: string, cause: unknown): MillraceError {
  const folder = dirname(file)
  const full = `the disk of ${folder} is full`
  const reasons = {
    EACCES: `this user may not write to ${folder}`,
    EPERM: `this user may not write to ${folder}`,
    EDQUOT: `this user may not use more of the disk of ${folder}`,
    ENOENT: `the folder ${folder} does not exist`,
    ENOSPC: full,
    ENOTDIR: `${folder} is not a folder`,
    EROFS: `the disk of ${folder} is read-only`,
  }
  const reason = meansFull(file, cause) ? `${full}.` : reasonOf(cause, reasons)
  return new MillraceError('backup_failed', { message: `Cannot write ${file}: ${reason}`, cause })
}

/** SQLite may call it a fault of the device when a file beside the copy does not fit. */
function meansFull(file: string, error: unknown): boolean {
  return isFullFault(error) || (isFailed(storageError(error)) && isDiskFull(file))
}

function isFailed(error: Error): boolean {
  return error instanceof MillraceError && error.code === 'store_failed'
}

/** The text of the system names the temporary file behind a comma. */
function reasonOf(error: unknown, reasons: Reasons): string {
  const { code = '' } = error as NodeJS.ErrnoException
  const typed = storageError(error)
  if (isFailed(typed)) return 'a disk has failed.'
  const { message } = typed
  const isOfSystem = code !== '' && message.startsWith(code)
  return isOfSystem ? `${reasons[code] ?? message.replace(/, .*$/s, '')}.` : message
}

/** What SQLite and the file system report, in Millrace's own terms. */
import { isError } from '../../../core/is-error.ts'
import { MillraceError } from '../../../core/millrace-error.ts'

/** Primary result codes of SQLite. */
const sqlError = 1
const busy = 5
const locked = 6
const readOnly = 8
const ioError = 10
const corrupt = 11
const full = 13
const cannotOpen = 14
const unauthorized = 23
const notADatabase = 26

const storeWide: ReadonlySet<number> = new Set([
  busy,
  locked,
  readOnly,
  ioError,
  corrupt,
  full,
  cannotOpen,
  notADatabase,
])

export function isBusy(error: unknown): boolean {
  const code = resultCode(error)
  return code === busy || code === locked
}

/** An authorizer did not let a statement be compiled. */
export function isUnauthorized(error: unknown): boolean {
  return resultCode(error) === unauthorized
}

/** The device failed: what the connection has in memory can no longer be trusted. */
export function isDeviceFault(error: unknown): boolean {
  return resultCode(error) === ioError
}

/** As SQLite reports it, or as our own error. */
export function isFullFault(error: unknown): boolean {
  if (error instanceof MillraceError) return error.code === 'store_full'
  return resultCode(error) === full
}

/** What SQLite reports when it cannot make a file beside the store, for want of room or otherwise. */
export function mayMeanFull(error: unknown): boolean {
  const code = resultCode(error)
  return code === ioError || code === cannotOpen
}

export function isCorrupt(error: unknown): boolean {
  return resultCode(error) === corrupt
}

/** It is no database, or one without the tables that were asked for. */
export function isForeign(error: unknown): boolean {
  const code = resultCode(error)
  return code === notADatabase || code === sqlError
}

/** The disk is full or failing, which concerns all writes. */
export function isDiskFault(error: unknown): boolean {
  const code = resultCode(error)
  return code === full || code === ioError || code === corrupt
}

/** The store as a whole is affected, not just the operation that met the fault. */
export function isStoreWideFault(error: unknown): boolean {
  const code = resultCode(error)
  return code !== undefined && storeWide.has(code)
}

/** A typed error for a failure of the store; other errors are returned as they are. */
export function storageError(error: unknown): Error {
  if (error instanceof MillraceError) return error
  switch (resultCode(error)) {
    case busy:
    case locked:
      return new MillraceError('store_busy', { cause: error })
    case full:
      return new MillraceError('store_full', { cause: error })
    case corrupt:
      return new MillraceError('store_corrupt', { cause: error })
    case notADatabase:
      return new MillraceError('store_foreign', { cause: error })
    case readOnly:
    case cannotOpen:
      return new MillraceError('store_unusable', { cause: error })
    case undefined:
      return isError(error) ? error : new Error(String(error))
    default:
      return new MillraceError('store_failed', { cause: error })
  }
}

function resultCode(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('errcode' in error)) return undefined
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined
}

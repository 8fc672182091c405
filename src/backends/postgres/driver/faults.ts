/** What the errors of Postgres and of its driver mean. */
import type { ErrorCode } from '../../../core/error-codes.ts'
import { MillraceError } from '../../../core/millrace-error.ts'

interface DriverError {
  readonly code?: string
  readonly originalCode?: string
  readonly table?: string
  /** What libraries that wrap errors of a driver call them. */
  readonly cause?: DriverError
  readonly driverError?: DriverError
  readonly meta?: DriverError
  readonly driverAdapterError?: DriverError
}

/** Another transaction was in the way: the rule can run again, and finds what the other one has left. */
const conflicts: ReadonlySet<string> = new Set([
  '23505', // a row with this key was stored meanwhile
  '40001',
  '40P01',
  '55P03',
  '57014', // a statement took longer than the role allows
])

export function isConflict(error: unknown): boolean {
  return error instanceof Outdated || conflicts.has(codeOf(error))
}

/** A transaction must run again, with the queues as they are now. */
export class Outdated extends Error {}

/** Nothing of a transaction was to blame: it can run again as it is. */
export function isRepeatable(error: unknown): boolean {
  return isUnreachable(error) || ['40001', '40P01'].includes(codeOf(error))
}

/** The queues were changed while a transaction ran, or its series has no mark. */
export function isOutdated(error: unknown): boolean {
  const code = codeOf(error)
  return code === '22012' || (code === '23502' && (error as DriverError).table === 'commit_mark')
}

/** The server has no room for another connection, or has become a replica: another one may be the primary. */
const elsewhere: ReadonlySet<string> = new Set(['53300', '25006'])

/** Errors of the driver, which have no code. */
const lostConnection = /^Connection terminated|timeout exceeded|timeout expired|is not queryable$/

/** The connection is gone, or the server does not take any now. */
export function isUnreachable(error: unknown): boolean {
  const code = codeOf(error)
  if (code.startsWith('08') || code.startsWith('57P') || elsewhere.has(code)) return true
  if (/^E[A-Z]+$/.test(code)) return true
  return error instanceof Error && lostConnection.test(error.message)
}

export function codeOf(error: unknown): string {
  if (!(error instanceof Error) || error instanceof MillraceError) return ''
  const codes = codesIn(error as DriverError)
  return codes.find((code) => sqlState.test(code)) ?? codes[0] ?? ''
}

/** The codes of Prisma begin with a P too. */
const sqlState = /^(?!P[1-9])[0-9A-Z]{5}$/

function codesIn(error: DriverError | undefined, depth = 0): readonly string[] {
  if (typeof error !== 'object' || error === null || depth > errorDepthMax) return []
  const { code, originalCode, cause, driverError, meta, driverAdapterError } = error
  const own = [originalCode, code].filter((one) => typeof one === 'string')
  const wrapped = [cause, driverError, meta, driverAdapterError]
  return [...own, ...wrapped.flatMap((one) => codesIn(one, depth + 1))]
}

const errorDepthMax = 4

interface Meaning {
  readonly code: ErrorCode
  readonly message: string
}

/** By the code of Postgres. */
const meanings: Readonly<Record<string, Meaning>> = {
  '25006': {
    code: 'store_unreachable',
    message: 'The database server only reads now. It may have become a replica.',
  },
  '42501': {
    code: 'store_unusable',
    message:
      'The role may not read and write all tables of the store. docs/postgres.md lists its rights.',
  },
  '53300': {
    code: 'store_unreachable',
    message:
      'The database server accepts no more connections. Open fewer, or raise max_connections.',
  },
  '57014': {
    code: 'store_busy',
    message:
      'The database server cancelled a statement. Its statement_timeout may be too short for this role.',
  },
}

/** The error of the port for one of the driver. */
export function storageError(error: unknown): Error {
  if (error instanceof MillraceError) return error
  const code = codeOf(error)
  const meaning = meanings[code]
  if (meaning !== undefined) {
    return new MillraceError(meaning.code, { message: meaning.message, cause: error })
  }
  if (isUnreachable(error)) return new MillraceError('store_unreachable', { cause: error })
  if (code === '53100') return new MillraceError('store_full', { cause: error })
  if (isConflict(error)) return new MillraceError('store_busy', { cause: error })
  if (code !== '') return new MillraceError('store_failed', { cause: error })
  return error instanceof Error ? error : new Error(String(error))
}

/** The answer to a commit was lost. */
export function outcomeUnknown(): MillraceError {
  return new MillraceError('store_unreachable', {
    message:
      'The database server was lost while it committed, and did not return. The call may have taken effect.',
  })
}
